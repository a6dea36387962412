"""A verdict as a story for people: what happened, in which order and why, in about 15 lines."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from typing import Protocol

from analyzers.catalogue.registry import ANOMALIES
from analyzers.history.surroundings import Unit
from analyzers.verdict.finding import Cause, Finding, Step, rank
from analyzers.verdict.summary import one_line
from analyzers.verdict.text import reasons
from analyzers.verdict.verdict import Verdict
from analyzers.verdict.wording import TimeScale, count, scale_of

INDENT = " " * 10
"""Width of the column of times."""

MOST_CAUSES = 2
"""Causes that the story describes, the second one without its steps. Further causes are only counted."""

MOST_STEPS = 8
"""Of one cause, so that the story fits on a screen."""

MOST_EFFECTS = 3
"""Sentences about findings without a known cause, which may be unrelated."""

TORN = "torn-transaction"

IN_SYNC = "in-sync replicas (ISR)"
"""Stands for the first "ISR" of a story, so that it is explained where it is first read."""

MOST_SENTENCES = {"unknown": 5, "invalid": 2}
"""Reasons why not everything is known that are shown, by result; the details have all of them."""


def story(verdict: Verdict, *, name: str = "") -> str:
    """Lines of any length; the last one has no line end. name: of the experiment or test."""
    run = [each for each in (name, f"run {verdict.run}") if each]
    if verdict.result == "valid":
        lines = ["   ".join([one_line(verdict).replace("valid", "VALID", 1), *run])]
        if allowed := ", ".join(
            f"{each.anomaly} ×{each.count:,}" for each in verdict.findings if each.allowed
        ):
            lines.append(f"   seen   {allowed} (allowed)")
        if missing := ", ".join(verdict.not_exercised):
            lines.append(f"   but    not exercised: {missing}")
        return "\n".join(lines)
    deciding = reasons(result=verdict.result, findings=verdict.findings, unknowns=())
    title = "  ".join([verdict.result.upper(), *([deciding] if deciding else [])])
    body = "\n".join([*_body(verdict), *_unknowns(verdict)])
    return "\n".join(["   ".join([title, *run]), re.sub(r"\bISR\b", IN_SYNC, body, count=1)])


def _body(verdict: Verdict) -> Iterator[str]:
    judged = {each.anomaly: each for each in verdict.findings if not each.allowed and each.severity != "note"}
    causes = [cause for cause in verdict.causes if judged.keys() & cause.findings.keys()]
    for number, cause in enumerate(causes[:MOST_CAUSES]):
        yield from _cause(cause, judged, verdict, steps=MOST_STEPS if number == 0 else 0)
    if len(causes) > MOST_CAUSES:
        yield f"{INDENT}... and {count(len(causes) - MOST_CAUSES, 'more cause')}"
    explained = {anomaly for cause in causes for anomaly in cause.findings}
    yield from (f"{INDENT}{_sentence(each)}" for each in judged.values() if each.anomaly not in explained)


def _cause(cause: Cause, judged: dict[str, Finding], verdict: Verdict, *, steps: int) -> Iterator[str]:
    yield from _steps(cause.steps, steps, verdict.unit)
    yield from _effects(cause, judged)
    if cause.kind == "follower reads" and "lost-write" not in judged and not verdict.unknowns:
        yield f"{INDENT}the log has all of them at the end: they were late, not lost"
    if with_settings := "; ".join(_settings(cause)):
        yield f"   with   {with_settings}"
    if cause.why:
        yield f"   why    {cause.why}"
    if cause.change:
        yield f"   try    {cause.change}"
    elif cause.changes == "unknown" and (known := cause.findings.keys() & judged.keys() & ANOMALIES.keys()):
        gravest = min(known, key=rank)
        yield f"   look   {ANOMALIES[gravest].look_further}"


def _settings(cause: Cause) -> Iterator[str]:
    if cause.settings:
        yield ", ".join(f"{name}={value}" for name, value in cause.settings.items())
    if cause.unrecorded:
        yield f"not recorded: {', '.join(cause.unrecorded)}"


def _steps(steps: Sequence[Step], most: int, unit: Unit) -> Iterator[str]:
    """Each with its time since the load's start and, where a fault is among them, since the fault before it."""
    shown = steps[:most]
    scale = scale_of((step.time for step in shown), unit)
    times = ["" if step.time is None else scale.text(step.time) for step in shown]
    since = [*since_fault(shown, scale)]
    width, width_since = max([8, *map(len, times)]), max([0, *map(len, since)])
    for number, step in enumerate(shown):
        column = f"{since[number]:>{width_since}}  " if width_since else ""
        yield f"{times[number]:>{width}}  {column}{step.text}"
    if most and len(steps) > most:
        yield f"{INDENT}... and {count(len(steps) - most, 'more step')}"


def _effects(cause: Cause, judged: dict[str, Finding]) -> Iterator[str]:
    """The worst finding as a sentence, and the others by name: they are the same event seen from elsewhere. A torn
    transaction breaks another promise, and has its sentence, too. So have several findings without a known cause."""
    found = [each for name, each in judged.items() if name in cause.findings]
    first = 1 if cause.is_determined else MOST_EFFECTS
    shown = [each for number, each in enumerate(found) if number < first or each.anomaly == TORN]
    yield from (f"{INDENT}→ {cause.findings[each.anomaly]:,} {each.summary}" for each in shown)
    others = [each for each in found if each not in shown]
    if not others:
        return
    names = ", ".join(f"{each.anomaly} {cause.findings[each.anomaly]:,}" for each in others)
    same = "the same truncation also shows as" if cause.kind == "truncation" else "also"
    yield f"{INDENT}{same}: {names}"


def _sentence(finding: Finding) -> str:
    return f"{finding.count:,} {finding.summary}"


def _unknowns(verdict: Verdict) -> Iterator[str]:
    sentences, most = verdict.unknowns, MOST_SENTENCES[verdict.result]
    if not sentences:
        return
    yield "   unknown"
    yield from (f"{INDENT}{sentence}" for sentence in sentences[:most])
    if len(sentences) > most:
        yield f"{INDENT}... and {len(sentences) - most:,} more"


FAULT = "fault"
"""Marks where counting begins."""


class Moment(Protocol):
    @property
    def time(self) -> float | None:
        """s."""

    @property
    def is_fault(self) -> bool:
        """Whether a fault begins then."""


def since_fault(moments: Iterable[Moment], scale: TimeScale) -> Iterator[str]:
    """Of each moment, in order: ``fault``, ``+3.5 s`` since the nearest fault above, or nothing if there is none.

    What has no known time is not counted.
    """
    latest: float | None = None
    for each in moments:
        if each.is_fault:
            latest = each.time
            yield FAULT
        elif each.time is None or latest is None:
            yield ""
        else:
            # The difference of the times as they are shown beside it.
            yield f"+{scale.text(scale.rounded(each.time) - scale.rounded(latest))}"
