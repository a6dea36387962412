"""What clients do by themselves: the finding shows it, and no broker has to fail for it."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from analyzers.causes.evidence import Explanation, Extent, RunEvidence
from analyzers.causes.explainer import Explainer
from analyzers.causes.kind import CauseKind
from analyzers.causes.records import ASSIGNMENTS
from analyzers.causes.words import first_steps

GROUP_SKIP = frozenset({"group-skip"})

RESET_TO_LATEST = CauseKind(
    name="auto.offset.reset=latest",
    happened="application",
    changes="setting",
    explains=GROUP_SKIP,
    established="A group skipped records, and the member that skipped them started with auto.offset.reset=latest.",
    why="with auto.offset.reset=latest, a member without a valid committed position starts at the end of the log",
    change="auto.offset.reset=earliest, or none: then the application decides",
    source="Kafka documentation, consumer configs: auto.offset.reset",
)

COMMITS_OUT_OF_ORDER = CauseKind(
    name="commits out of order",
    happened="application",
    changes="application",
    explains=frozenset({"commit-regression"}),
    established="One client made both commits, of which the later one is lower, and no fault held it.",
    why="the client itself committed a lower position after a higher one; the broker keeps the last commit it gets",
    change="wait for each commit, or commit asynchronously without repeating one that failed",
    source="Kafka documentation, KafkaConsumer: commitAsync",
)

COMMITS_BEYOND_POLLS = CauseKind(
    name="commits of what was not polled",
    happened="application",
    changes="application",
    explains=frozenset({"commit-beyond-polls"}),
    established="The finding: a member committed a position above all that its polls had returned.",
    why="the member committed a position above all that its polls had returned",
    change="commit the offset of the last processed record plus one, or call commit without positions",
    source="Kafka documentation, KafkaConsumer: offsets and consumer position",
)

COMMITS_BEFORE_COPIES = CauseKind(
    name="commits before copies",
    happened="application",
    changes="application",
    explains=frozenset({"lost-copy"}),
    established="A committed position passed a record without a copy, without transactions, and the run lost no "
    "acknowledged write: so no copy had been acknowledged.",
    why="a position was committed before the copies of what it passes were acknowledged; no such copy is lost",
    change="commit after the acknowledgement of the copy, or send both to one transaction",
    source="KIP-98: sendOffsetsToTransaction",
)


def by_clients(run: RunEvidence) -> Iterator[Explanation]:
    for kind, is_established in CONDITIONS:
        found = [each for each in run.extents if each.anomaly in kind.explains and is_established(each, run)]
        if found:
            events, steps = first_steps(found, run)
            yield Explanation(kind=kind, extents=found, steps=steps, faults=events)


def _reset_to_latest(extent: Extent, run: RunEvidence) -> bool:
    return any(
        each.policy == "latest" and each.log == extent.log and each.process in extent.processes
        for each in run.assignments
    )


def _of_one_client(extent: Extent, run: RunEvidence) -> bool:
    """Whether one client had the partition alone, in its whole group."""
    owners = {each.process for each in run.assignments if each.log == extent.log}
    return len(extent.processes) == 1 and owners == {*extent.processes}


def _is_unacknowledged(_: Extent, run: RunEvidence) -> bool:
    return "txn" not in run.operations and not {"lost-write", "lost-read"} & run.anomalies


CONDITIONS: tuple[tuple[CauseKind, Callable[[Extent, RunEvidence], bool]], ...] = (
    (RESET_TO_LATEST, _reset_to_latest),
    (COMMITS_OUT_OF_ORDER, _of_one_client),
    (COMMITS_BEYOND_POLLS, lambda *_: True),
    (COMMITS_BEFORE_COPIES, _is_unacknowledged),
)

BY_CLIENTS = Explainer(
    rank=60, kinds=tuple(kind for kind, _ in CONDITIONS), examines=(ASSIGNMENTS,), explain=by_clients
)
