"""Findings that nothing explains: which faults were at work, and which records were examined for a cause."""

from __future__ import annotations

from collections.abc import Sequence

from analyzers.causes.evidence import Extent, RunEvidence, logs_of, merged
from analyzers.causes.registry import EXPLAINERS
from analyzers.causes.without_cause import WITHOUT
from analyzers.causes.words import first_steps, in_order
from analyzers.history.fault_events import FaultEvent
from analyzers.verdict.cause import NOT_DETERMINED, Cause

MOST_NAMES = 4
"""Faults, anomalies and partitions that one line names."""


def not_determined(extents: Sequence[Extent], run: RunEvidence) -> Cause:
    found = merged(extents)
    events, steps = first_steps(extents, run)
    examined, missing = _examined(extents, run)
    sentences = [
        f"not determined; {_at_work(events, run)}",
        *([f"examined: {', '.join(examined)}"] if examined else []),
        *([f"not recorded: {', '.join(missing)}"] if missing else []),
    ]
    return Cause(
        kind=NOT_DETERMINED,
        why="; ".join(sentences) + _reason([*found]),
        logs=logs_of(extents),
        findings={name: each.count for name, each in found.items()},
        faults=tuple(event.event for event in events),
        steps=in_order(steps),
        settings={name: run.settings[name] for name in _settings(extents) if name in run.settings},
        unrecorded=tuple(name for name in _settings(extents) if name not in run.settings),
    )


def _at_work(events: Sequence[FaultEvent], run: RunEvidence) -> str:
    if events:
        return f"at work then: {some([f'{each.fault} {each.target} ({each.event})' for each in events])}"
    return "no fault was active then" if run.events else "no fault is recorded"


def _reason(names: Sequence[str]) -> str:
    """Why no kind of cause is known for the first of these anomalies; empty where one is."""
    return f". {WITHOUT[names[0]]}" if names[0] in WITHOUT else ""


def some(names: Sequence[str]) -> str:
    """The first names, and how many others there are."""
    more = len(names) - MOST_NAMES
    return ", ".join(names[:MOST_NAMES]) + (f" and {more:,} more" if more > 0 else "")


def _examined(extents: Sequence[Extent], run: RunEvidence) -> tuple[list[str], list[str]]:
    """The records that might have explained them: those that are there, and those that are not."""
    names = {each.anomaly for each in extents}
    records = dict.fromkeys(
        each for explainer in EXPLAINERS if explainer.explains & names for each in explainer.examines
    )
    there = {each: each.are_there(run, extents) for each in records}
    return [each.name for each in records if there[each]], [
        each.name for each in records if there[each] is False
    ]


def _settings(extents: Sequence[Extent]) -> tuple[str, ...]:
    """Those on which causes of these anomalies depend."""
    names = {each.anomaly for each in extents}
    kinds = (kind for explainer in EXPLAINERS for kind in explainer.kinds if kind.explains & names)
    return tuple(dict.fromkeys(name for kind in kinds for name in kind.settings))
