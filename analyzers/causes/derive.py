"""Groups the findings of a run by what has to be changed; those that nothing explains come last."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence, Set
from dataclasses import replace

from analyzers.causes.evidence import Extent, RunEvidence, logs_of, merged, span_of
from analyzers.causes.explainer import Explanation
from analyzers.causes.registry import EXPLAINERS, KINDS, WITHOUT
from analyzers.causes.words import first_steps, in_order
from analyzers.history.fault_events import FaultEvent
from analyzers.verdict.finding import NOT_DETERMINED, Cause, Step
from analyzers.verdict.wording import count

MOST_OTHERS = 3
"""Further events of one cause that have a step of their own."""

MOST_NAMES = 4
"""Faults that one line names."""


def derive(run: RunEvidence) -> tuple[Cause, ...]:
    """The causes with the most findings first; every finding is under exactly one cause, and those that nothing
    explains are under the last one, which is not determined."""
    rest = list(run.extents)
    by_kind: dict[str, list[Explanation]] = defaultdict(list)
    for explainer in EXPLAINERS:
        for each in explainer.explain(replace(run, extents=rest, every=run.extents)):
            by_kind[each.kind.name].append(each)
            rest = [extent for extent in rest if extent not in each.extents]
    causes = sorted(
        (cause_of(each, run) for each in by_kind.values()), key=lambda cause: -sum(cause.findings.values())
    )
    return (*causes, not_determined(rest, run)) if rest else tuple(causes)


def cause_of(events: Sequence[Explanation], run: RunEvidence) -> Cause:
    """Of one kind. Its steps are those of the event with the most findings; the others have one each."""
    largest, *others = sorted(events, key=lambda each: -sum(extent.count for extent in each.extents))
    every = (largest, *others)
    extents = [extent for each in every for extent in each.extents]
    kind = largest.kind
    settings = run.settings if largest.settings is None else largest.settings
    return Cause(
        kind=kind.happened,
        name=kind.name,
        changes=kind.changes,
        why=kind.why,
        change=kind.change,
        source=kind.source,
        settings={name: settings[name] for name in kind.settings if name in settings},
        unrecorded=tuple(name for name in kind.settings if name not in settings),
        logs=logs_of(extents),
        findings=_counts(extents),
        circumstances=_once(name for each in every for name in each.circumstances),
        faults=_once(event.event for each in every for event in each.faults),
        cuts=tuple(cut for each in every for cut in each.cuts),
        election=largest.election,
        steps=in_order([*largest.steps, *_likewise(others, run)]),
    )


def _likewise(others: Sequence[Explanation], run: RunEvidence) -> Iterable[Step]:
    for each in others[:MOST_OTHERS]:
        names = ", ".join(f"{name} {number:,}" for name, number in _counts(each.extents).items())
        where = ", ".join(logs_of(each.extents))
        first, _ = span_of(each.extents)
        yield Step(time=run.at(first), text=f"the same happens{' in ' * bool(where)}{where}: {names}")
    more = len(others) - MOST_OTHERS
    if more > 0:
        yield Step(time=None, text=f"... and {count(more, 'more time')}")


def _counts(extents: Sequence[Extent]) -> dict[str, int]:
    return {name: each.count for name, each in merged(extents).items()}


def _once(names: Iterable[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(names))


def not_determined(extents: Sequence[Extent], run: RunEvidence) -> Cause:
    """Says which faults were at work, and which records were examined for a cause."""
    findings = _counts(extents)
    settings = _settings(findings.keys())
    events, steps = first_steps(extents, run)
    examined, missing = _examined(extents, run)
    sentences = [
        f"not determined; {_at_work(events, run)}",
        *([f"examined: {', '.join(examined)}"] if examined else []),
        *([f"not recorded: {', '.join(missing)}"] if missing else []),
    ]
    return Cause(
        kind=NOT_DETERMINED,
        why="; ".join(sentences) + _reason([*findings]),
        logs=logs_of(extents),
        findings=findings,
        faults=tuple(event.event for event in events),
        steps=in_order(steps),
        settings={name: run.settings[name] for name in settings if name in run.settings},
        unrecorded=tuple(name for name in settings if name not in run.settings),
    )


def _at_work(events: Sequence[FaultEvent], run: RunEvidence) -> str:
    if events:
        return f"at work then: {_some([f'{each.fault} {each.target} ({each.event})' for each in events])}"
    return "no fault was active then" if run.events else "no fault is recorded"


def _reason(names: Sequence[str]) -> str:
    """Why no kind of cause is known for the first of these anomalies; empty where one is."""
    return f". {WITHOUT[names[0]]}" if names[0] in WITHOUT else ""


def _some(names: Sequence[str]) -> str:
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


def _settings(anomalies: Set[str]) -> tuple[str, ...]:
    """Those on which causes of these anomalies depend."""
    kinds = (kind for kind in KINDS.values() if kind.explains & anomalies)
    return tuple(dict.fromkeys(name for kind in kinds for name in kind.settings))
