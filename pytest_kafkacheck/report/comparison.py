"""Several runs side by side: what differs in their settings, and what each showed."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

from analyzers.verdict.verdict import Verdict
from pytest_kafkacheck.report.axis import Axis
from pytest_kafkacheck.report.page import Page, page, ticks
from pytest_kafkacheck.report.run_data import RunData

SHOWN = ("What happened", "Load")
"""Groups of lanes of each run."""


@dataclass(frozen=True, kw_only=True)
class Line:
    """One thing, and its value in each run."""

    name: str
    values: tuple[str, ...]

    @property
    def differs(self) -> bool:
        return len(set(self.values)) > 1


@dataclass(frozen=True, kw_only=True)
class Comparison:
    runs: tuple[Page, ...]
    """On one axis, so that the same width is the same time."""
    showed: tuple[Line, ...]
    findings: tuple[Line, ...]
    settings: tuple[Line, ...]
    """Those that differ, of the experiment and of the topics and producers."""


def compared(runs: Sequence[RunData]) -> Comparison:
    span = max(run.axis.span for run in runs)
    pages = [_on_axis(page(run), span) for run in runs]
    return Comparison(
        runs=tuple(pages),
        showed=tuple(_showed([run.verdict for run in runs])),
        findings=tuple(_findings([run.verdict for run in runs])),
        settings=tuple(line for line in _settings(runs) if line.differs),
    )


def _on_axis(each: Page, span: int) -> Page:
    groups = tuple(group for group in each.groups if group.title in SHOWN)
    return replace(
        each,
        axis=Axis(began=each.axis.began, span=span, step=each.axis.width),
        ticks=ticks(span),
        groups=groups,
    )


def _showed(verdicts: Sequence[Verdict | None]) -> Iterator[Line]:
    def line(name: str, of: Callable[[Verdict], str]) -> Line:
        return Line(name=name, values=tuple("–" if each is None else of(each) for each in verdicts))

    yield line("verdict", lambda each: each.result)
    yield line("acknowledged", lambda each: f"{each.exercised.acks:,}")
    yield line(
        "not acknowledged", lambda each: f"{sum(each.exercised.sends.values()) - each.exercised.acks:,}"
    )
    yield line("elections", lambda each: f"{each.exercised.leader_changes:,}")
    yield line("smallest ISR", lambda each: str(each.exercised.smallest_isr or "–"))
    yield line("longest wait", lambda each: _seconds([log.longest_wait for log in each.availability.logs]))
    yield line(
        "first acknowledgement after the last heal",
        lambda each: _seconds([log.recovery for log in each.availability.logs]),
    )
    yield line(
        "longest until all brokers named a new leader",
        lambda each: _seconds([each.propagation.longest if each.propagation else None]),
    )
    for phase in ("steady", "recovery"):
        for name, key in (("median", "latency_median"), ("99 %", "latency_99"), ("worst", "latency_worst")):
            yield line(f"latency, phase {phase}, {name}", partial(_latency, phase=phase, key=key))


def _seconds(values: Sequence[float | None]) -> str:
    known = [value for value in values if value is not None]
    return f"{max(known):.1f} s" if known else "–"


def _latency(verdict: Verdict, *, phase: str, key: str) -> str:
    phases = verdict.availability.phases
    value = next((getattr(each, key) for each in phases if each.phase == phase), None)
    return "–" if value is None else f"{value * 1000:,.0f} ms"


def _findings(verdicts: Sequence[Verdict | None]) -> Iterator[Line]:
    counts = [
        {each.anomaly: each.count for each in verdict.findings} if verdict else {} for verdict in verdicts
    ]
    for anomaly in dict.fromkeys(name for each in counts for name in each):
        yield Line(name=anomaly, values=tuple(f"{each.get(anomaly, 0):,}" for each in counts))


def _settings(runs: Sequence[RunData]) -> Iterator[Line]:
    flat = [
        dict(_flat("", run.experiment)) | dict(run.verdict.settings if run.verdict else {}) for run in runs
    ]
    for name in sorted({name for each in flat for name in each}):
        yield Line(name=name, values=tuple(str(each.get(name, "–")) for each in flat))


def _flat(prefix: str, value: Any) -> Iterator[tuple[str, str]]:
    """``workload.acks``, ``faults.0.at`` ... of a JSON value."""
    if isinstance(value, Mapping):
        inside = ((str(key), each) for key, each in value.items())
    elif isinstance(value, list) and value:
        inside = ((str(key), each) for key, each in enumerate(value))
    else:
        yield prefix, str(value)
        return
    for key, each in inside:
        yield from _flat(f"{prefix}.{key}" if prefix else key, each)
