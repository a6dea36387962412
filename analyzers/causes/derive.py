"""Groups the findings of a run by what has to be changed."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

from analyzers.causes.evidence import Explanation, Extent, RunEvidence, logs_of, merged
from analyzers.causes.not_determined import not_determined
from analyzers.causes.registry import EXPLAINERS
from analyzers.causes.words import in_order
from analyzers.verdict.cause import Cause, Step
from analyzers.verdict.wording import count

MOST_OTHERS = 3
"""Further events of one cause that have a step of their own."""


def derive(run: RunEvidence) -> tuple[Cause, ...]:
    """The causes with the most findings first; every finding is under exactly one cause, and those that nothing
    explains are under the last one, which is not determined."""
    rest = list(run.extents)
    found: dict[str, list[Explanation]] = {}
    for explainer in EXPLAINERS:
        for each in explainer.explain(replace(run, extents=rest, every=run.extents)):
            found.setdefault(each.kind.name, []).append(each)
            rest = [extent for extent in rest if extent not in each.extents]
    causes = sorted(
        (cause_of(each, run) for each in found.values()), key=lambda cause: -sum(cause.findings.values())
    )
    return (*causes, *([not_determined(rest, run)] if rest else []))


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
        first = min((extent.first for extent in each.extents if extent.first is not None), default=None)
        yield Step(time=run.at(first), text=f"the same happens{' in ' * bool(where)}{where}: {names}")
    more = len(others) - MOST_OTHERS
    if more > 0:
        yield Step(time=None, text=f"... and {count(more, 'more time')}")


def _counts(extents: Sequence[Extent]) -> dict[str, int]:
    return {name: each.count for name, each in merged(extents).items()}


def _once(names: Iterable[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(names))
