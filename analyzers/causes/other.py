"""Causes that no sample of a broker shows: delivery twice, a group that goes on without a member, and none known."""

from __future__ import annotations

from collections.abc import Sequence

from analyzers.causes.circumstance import PAUSED_MEMBER
from analyzers.causes.evidence import Extent, RunEvidence
from analyzers.causes.words import MOST_FAULTS, fault_steps
from analyzers.verdict.cause import Cause, Kind, Step

HANDOVER = frozenset(
    {
        "double-ownership",
        "group-skip",
        "commit-regression",
        "fenced-commit",
        "excess-duplicates",
        "orphaned-partition",
    }
)
"""Anomalies of consumer groups."""

HELD = frozenset({"pause_client", "isolate_client", "cut_clients"})
"""Faults during which a group goes on without a member that is still alive."""


def duplicate_delivery(extents: Sequence[Extent], run: RunEvidence) -> Cause | None:
    """Values that lie twice in a log which was not cut: they were appended twice."""
    twice = [each for each in extents if each.anomaly == "duplicate"]
    return _of("duplicate delivery", twice, run) if twice else None


def group_handover(extents: Sequence[Extent], run: RunEvidence) -> Cause | None:
    """A fault that held a member while the group went on without it; None if no such fault was active."""
    of_groups = [each for each in extents if each.anomaly in HANDOVER]
    held = [
        event
        for each in of_groups
        for event in run.active(each.first, each.last)
        if event.fault in HELD and event.processes
    ]
    if not held:
        return None
    return _of("group handover", of_groups, run, circumstances=(PAUSED_MEMBER,))


def unknown(extents: Sequence[Extent], run: RunEvidence) -> Cause:
    """Nothing in the history explains them. The faults that were active are named, which is no explanation."""
    return _of("unknown", extents, run)


def _of(
    kind: Kind, extents: Sequence[Extent], run: RunEvidence, *, circumstances: tuple[str, ...] = ()
) -> Cause:
    counts: dict[str, int] = {}
    for each in extents:
        counts[each.anomaly] = counts.get(each.anomaly, 0) + each.count
    first = min((each.first for each in extents if each.first is not None), default=None)
    last = max((each.last for each in extents if each.last is not None), default=None)
    events = run.active(first, last)
    steps = list(fault_steps(events[:MOST_FAULTS], run))
    if first is not None:
        names = ", ".join(counts)
        steps.append(Step(time=run.at(first), text=f"the first {names}"))
        if last is not None and last > first:
            steps.append(Step(time=run.at(last), text=f"the last {names}"))
    return Cause(
        kind=kind,
        logs=tuple(sorted({each.log for each in extents if each.log is not None})),
        findings=counts,
        circumstances=circumstances,
        faults=tuple(event.event for event in events),
        steps=tuple(sorted(steps, key=lambda step: (step.time is None, step.time or 0.0))),
    )
