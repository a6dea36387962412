"""Causes for which nothing has to fail: what clients do by themselves, and what settings of producers and topics let
happen. The finding shows it, with a condition that the run's records or settings fulfil."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from analyzers.causes.evidence import Extent, RunEvidence, merged
from analyzers.causes.explainer import ASSIGNMENTS, CauseKind, Explainer, Explanation, first_kind
from analyzers.causes.words import extent_steps, first_steps, spread

MS = 10**6
"""ns."""

TWICE = frozenset({"duplicate"})
REORDERED = frozenset({"nonmonotonic-send"})
PRODUCER_SETTINGS = ("acks", "enable.idempotence")
KIP = "KIP-98: idempotent producer"

RETRIES = (
    CauseKind(
        name="enable.idempotence=false",
        happened="duplicate delivery",
        changes="setting",
        explains=TWICE | REORDERED,
        established="A value lies twice in a log that was not cut, or writes lie in another order than their client "
        "sent them, and producers have this setting.",
        setting=("enable.idempotence", "false"),
        why="without an idempotent producer, a retry after a lost answer appends the record again",
        change="enable.idempotence=true, which requires acks=all",
        source=KIP,
        settings=PRODUCER_SETTINGS,
    ),
    CauseKind(
        name="duplicate delivery",
        happened="duplicate delivery",
        changes="unknown",
        explains=TWICE,
        established="A value lies twice in a log that was not cut; enable.idempotence is true or not recorded.",
        why="the log was not cut, so the records were appended twice; the settings recorded do not say why",
        source=KIP,
        settings=PRODUCER_SETTINGS,
    ),
)

RESET_TO_LATEST = CauseKind(
    name="auto.offset.reset=latest",
    happened="application",
    changes="setting",
    explains=frozenset({"group-skip"}),
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

BEYOND_END = CauseKind(
    name="committed positions that the log does not have",
    happened="application",
    changes="application",
    explains=frozenset({"commit-beyond-end"}),
    established="A commit of a position above the end of the log was acknowledged.",
    why="the coordinator stores every position that a client commits, and does not compare it with the log",
    change="commit the offset of the last processed record of the same partition plus one, and no position that "
    "was kept from before a topic was created again",
    source="Kafka documentation: KafkaConsumer, offsets and consumer position",
)

EXPIRED = frozenset({"expired"})
DELETES = frozenset({"delete-records", "recreate-topic"})
"""Faults that remove records."""

RETENTION = CauseKind(
    name="retention",
    happened="removal",
    changes="setting",
    explains=EXPIRED,
    established="The topic's retention.ms is shorter than the run was when the records were missed, or it has a "
    "retention.bytes.",
    why="the settings of the topic let brokers remove records before a reader gets them",
    change="a longer retention.ms and retention.bytes=-1, or readers that keep up",
    source="Kafka documentation, topic configs: retention.ms, retention.bytes",
    settings=("cleanup.policy", "retention.ms", "retention.bytes"),
)

DELETED_BY_A_FAULT = CauseKind(
    name="deletion by a fault",
    happened="removal",
    changes="nothing",
    explains=EXPIRED,
    established="A fault of the schedule deleted records or the topic before they were read.",
    why="a fault of the schedule deletes records, and readers then have no right to expect them",
    source="docs/faults.md: delete-records, recreate-topic",
)

TOMBSTONES = CauseKind(
    name="delete.retention.ms",
    happened="removal",
    changes="setting",
    explains=frozenset({"risen-key"}),
    established="A reader keeps the value of a deleted key; delete.retention.ms is shorter than the run until then.",
    why="a tombstone is removed after delete.retention.ms; a reader that comes later keeps the value below it",
    change="a delete.retention.ms that is longer than any reader is slow or away",
    source="Kafka documentation, topic configs: delete.retention.ms",
    settings=("cleanup.policy", "delete.retention.ms"),
)

Conditions = tuple[tuple[CauseKind, Callable[[Extent, RunEvidence], bool]], ...]
"""Kinds, each with what must be true of a finding that it explains."""


def by_retries(run: RunEvidence) -> Iterator[Explanation]:
    """Writes in another order have this cause only where the setting is recorded: what else reorders them is not
    known."""
    kind = first_kind(RETRIES, (), run.settings)
    twice = [each for each in run.extents if each.anomaly in TWICE]
    reordered = [each for each in run.extents if each.anomaly in REORDERED & kind.explains]
    if twice:
        (whole,) = merged(twice).values()
        text = spread(whole, "write", run, "the log will have more than once", " is sent")
        events, steps = extent_steps(twice, run, text)
    elif reordered:
        events, steps = first_steps(reordered, run)
    else:
        return
    yield Explanation(kind=kind, extents=[*twice, *reordered], steps=steps, faults=events)


def positions(run: RunEvidence) -> Iterator[Explanation]:
    found = [each for each in run.extents if each.anomaly in BEYOND_END.explains]
    if found:
        (whole,) = merged(found).values()
        text = spread(whole, "commit", run, "goes beyond the end of its log", " begins")
        events, steps = extent_steps(found, run, text)
        yield Explanation(kind=BEYOND_END, extents=found, steps=steps, faults=events)


def by_clients(run: RunEvidence) -> Iterator[Explanation]:
    return _by_conditions(OF_CLIENTS, run)


def removals(run: RunEvidence) -> Iterator[Explanation]:
    return _by_conditions(OF_TOPICS, run)


def _by_conditions(conditions: Conditions, run: RunEvidence) -> Iterator[Explanation]:
    for kind, is_established in conditions:
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


def _is_deleted(extent: Extent, run: RunEvidence) -> bool:
    """Whatever the topic's settings would have removed as well."""
    first = extent.first
    return first is not None and any(
        event.fault in DELETES and (event.ended is None or event.ended >= first) for event in run.events
    )


def _is_removed(extent: Extent, run: RunEvidence) -> bool:
    size = run.settings.get("retention.bytes", "-1")
    return _is_over("retention.ms", extent, run) or (size.isdigit() and not _is_deleted(extent, run))


def _is_forgotten(extent: Extent, run: RunEvidence) -> bool:
    return _is_over("delete.retention.ms", extent, run)


def _is_over(name: str, extent: Extent, run: RunEvidence) -> bool:
    """Whether the run had lasted for longer than a recorded setting (ms) when the last of the findings was seen."""
    limit, last = run.settings.get(name, ""), extent.last if extent.last is not None else extent.first
    if not limit.isdigit() or last is None or run.began is None:
        return False
    return int(limit) * MS <= last - run.began


OF_CLIENTS: Conditions = (
    (RESET_TO_LATEST, _reset_to_latest),
    (COMMITS_OUT_OF_ORDER, _of_one_client),
    (COMMITS_BEYOND_POLLS, lambda *_: True),
    (COMMITS_BEFORE_COPIES, _is_unacknowledged),
)

OF_TOPICS: Conditions = (
    (RETENTION, _is_removed),
    (DELETED_BY_A_FAULT, _is_deleted),
    (TOMBSTONES, _is_forgotten),
)

DUPLICATE_DELIVERY = Explainer(rank=40, kinds=RETRIES, examines=(), explain=by_retries)

BY_CLIENTS = Explainer(
    rank=60, kinds=tuple(kind for kind, _ in OF_CLIENTS), examines=(ASSIGNMENTS,), explain=by_clients
)

POSITIONS = Explainer(rank=61, kinds=(BEYOND_END,), examines=(), explain=positions)

REMOVALS = Explainer(rank=70, kinds=tuple(kind for kind, _ in OF_TOPICS), examines=(), explain=removals)
