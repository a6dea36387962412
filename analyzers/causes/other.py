"""Causes that no sample of a broker shows: delivery twice, and none known."""

from __future__ import annotations

from collections.abc import Sequence

from analyzers.causes.evidence import Explanation, Extent, RunEvidence, logs_of
from analyzers.causes.words import MOST_FAULTS, fault_steps, in_order
from analyzers.verdict.cause import Cause, Kind, Step


def duplicate_delivery(extents: Sequence[Extent], run: RunEvidence) -> Explanation | None:
    """Values that lie twice in a log which was not cut: they were appended twice."""
    twice = [each for each in extents if each.anomaly == "duplicate"]
    if not twice:
        return None
    count = sum(each.count for each in twice)
    what = "a write" if count == 1 else f"the first of {count:,} writes"
    text = f"{what} that the log will have more than once is sent"
    return Explanation(_of("duplicate delivery", twice, run, first_text=text), twice)


def unknown(extents: Sequence[Extent], run: RunEvidence) -> Cause:
    """Nothing in the history explains them. The faults that were active are named, which is no explanation."""
    names = ", ".join(dict.fromkeys(each.anomaly for each in extents))
    return _of("unknown", extents, run, first_text=f"the first {names}")


def _of(kind: Kind, extents: Sequence[Extent], run: RunEvidence, *, first_text: str) -> Cause:
    """first_text: what to say of the first finding."""
    counts: dict[str, int] = {}
    for each in extents:
        counts[each.anomaly] = counts.get(each.anomaly, 0) + each.count
    first = min((each.first for each in extents if each.first is not None), default=None)
    last = max((each.last for each in extents if each.last is not None), default=None)
    events = run.active(first, last)
    steps = list(fault_steps(events[:MOST_FAULTS], run))
    if first is not None:
        until = run.at(last) if last is not None and last > first else None
        end = "" if until is None else f"; the last at {until:,.1f} s"
        steps.append(Step(time=run.at(first), text=f"{first_text}{end}"))
    return Cause(
        kind=kind,
        logs=logs_of(extents),
        findings=counts,
        faults=tuple(event.event for event in events),
        steps=in_order(steps),
    )
