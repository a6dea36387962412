"""Records that a topic's settings, or a request, let brokers remove."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from analyzers.causes.evidence import Explanation, Extent, RunEvidence
from analyzers.causes.explainer import Explainer
from analyzers.causes.kind import CauseKind
from analyzers.causes.words import first_steps

MS = 10**6
"""ns."""

EXPIRED = frozenset({"expired"})
DELETES = frozenset({"delete-records", "recreate-topic"})
"""Faults that remove records."""

DELETED_BY_A_FAULT = CauseKind(
    name="deletion by a fault",
    happened="removal",
    changes="nothing",
    explains=EXPIRED,
    established="A fault of the schedule deleted records or the topic before they were read.",
    why="a fault of the schedule deletes records, and readers then have no right to expect them",
    source="docs/faults.md: delete-records, recreate-topic",
)

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


def removals(run: RunEvidence) -> Iterator[Explanation]:
    for kind, is_established in CONDITIONS:
        found = [each for each in run.extents if each.anomaly in kind.explains and is_established(each, run)]
        if found:
            events, steps = first_steps(found, run)
            yield Explanation(kind=kind, extents=found, steps=steps, faults=events)


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


CONDITIONS: tuple[tuple[CauseKind, Callable[[Extent, RunEvidence], bool]], ...] = (
    (RETENTION, _is_removed),
    (DELETED_BY_A_FAULT, _is_deleted),
    (TOMBSTONES, _is_forgotten),
)

REMOVALS = Explainer(rank=70, kinds=tuple(kind for kind, _ in CONDITIONS), examines=(), explain=removals)
