"""What the explainers of an application's outputs have in common."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Sequence
from statistics import mode
from typing import NamedTuple

from analyzers.causes.application import Application, Input
from analyzers.causes.circumstance import BESIDE_TRANSACTIONS
from analyzers.causes.cuts import find_cuts
from analyzers.causes.evidence import Extent, RunEvidence
from analyzers.causes.kind import CauseKind
from analyzers.causes.records import Records
from analyzers.history.fault_events import FaultEvent
from analyzers.verdict.names import client_name

OUTSIDE = CauseKind(
    name="positions outside of the transaction",
    circumstance=BESIDE_TRANSACTIONS,
    happened="application",
    changes="application",
    explains=frozenset({"missing-output", "duplicate-output"}),
    established="Outputs were written in transactions, and no position was committed in one.",
    why="positions are not part of the transaction: a crash between it and the commit repeats its outputs, and one "
    "between the commit and its end loses them",
    change="send_offsets_to_transaction() (sendOffsetsToTransaction) with the consumer's group metadata, and no "
    "commit beside it",
    source="KIP-98 (transactions), KIP-447 (group metadata)",
)


def _has_commits(run: RunEvidence, _: Sequence[Extent]) -> bool:
    return run.application is not None and any(run.application.commits.values())


def _has_owners(run: RunEvidence, _: Sequence[Extent]) -> bool:
    return run.application is not None and any(run.application.turns.values())


RECORDS = (
    Records(name="commits of the application's group", are_there=_has_commits),
    Records(name="owners of its partitions", are_there=_has_owners),
)

ENDING = frozenset({"kill-client", "stop-client"})
"""Faults that end an instance."""

HOLDING = frozenset({"pause-client", "isolate-app"})
"""Faults during which a group goes on without an instance that is still alive."""


class End(NamedTuple):
    """What ended an instance. Time in ns. event: None where it ended by itself."""

    time: int
    text: str
    event: FaultEvent | None = None


def ends_of(owner: str, since: int, run: RunEvidence) -> Iterator[End]:
    """In order of time."""
    found = [
        End(began, f"{owner} is ended", event)
        for began, event in faults_of(owner, run, ENDING)
        if began >= since
    ]
    if run.application is not None:
        found += [
            End(each.time, f"{owner} ended by itself with status {each.status}")
            for each in run.application.events
            if each.event == "ended" and each.instance == owner and each.time >= since
        ]
    yield from sorted(found, key=lambda each: each.time)


def faults_of(owner: str, run: RunEvidence, faults: Collection[str]) -> Iterator[tuple[int, FaultEvent]]:
    """On an instance, each with the time at which it began, ns."""
    for event in run.events:
        names = {client_name(each, run.clients) for each in event.processes}
        began = event.began if event.took_effect else None
        if began is not None and event.fault in faults and owner in names:
            yield began, event


def circumstances_of(kind: CauseKind) -> tuple[str, ...]:
    return () if kind.circumstance is None else (kind.circumstance,)


def once(events: Iterable[FaultEvent]) -> list[FaultEvent]:
    return list({event.event: event for event in events}.values())


def sink_cuts(application: Application, run: RunEvidence) -> list[int]:
    """ns, when a leader of the sink had lost the end of its log."""
    logs = [log for log in run.changes if log.rpartition("-")[0] == application.sink]
    return [cut.after.time for log in logs for cut in find_cuts(run.of_log(log), (), run) if cut.before.leads]


def offsets(inputs: Sequence[Input]) -> str:
    """``the inputs at 385 to 584``, or how many there are between these where some are not among them."""
    low, high = inputs[0].offset, inputs[-1].offset
    if low == high:
        return f"the input at {low:,}"
    if high - low + 1 == len(inputs):
        return f"the inputs at {low:,} to {high:,}"
    return f"{len(inputs):,} inputs at {low:,} to {high:,}"


def explained(
    run: RunEvidence, anomalies: Collection[str], found: Iterable[tuple[Input, int, CauseKind]]
) -> Iterator[tuple[CauseKind, list[Extent]]]:
    """By kind, the findings of which it explains the most.

    found  inputs with a finding, its time in ns, and the kind of its cause.
    """
    by_log: dict[str | None, list[tuple[Input, int, CauseKind]]] = defaultdict(list)
    for each in found:
        by_log[each[0].log].append(each)
    by_kind: dict[CauseKind, list[Extent]] = defaultdict(list)
    for extent in run.extents:
        if extent.anomaly in anomalies:
            kinds = [kind for one, time, kind in by_log[extent.log] if _is_in(one, time, extent)]
            if kinds:
                by_kind[mode(kinds)].append(extent)
    yield from by_kind.items()


def _is_in(one: Input, time: int, extent: Extent) -> bool:
    return _is_between(extent.low, one.offset, extent.high) and _is_between(extent.first, time, extent.last)


def _is_between(low: int | None, value: int, high: int | None) -> bool:
    """Both inclusive; None: without a limit."""
    return (low is None or low <= value) and (high is None or value <= high)
