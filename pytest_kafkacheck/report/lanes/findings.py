"""The moments of each cause and of each finding."""

from __future__ import annotations

from collections.abc import Iterator

from analyzers.verdict.cause import Cause
from analyzers.verdict.finding import Finding
from pytest_kafkacheck.report.axis import clock
from pytest_kafkacheck.report.lane import Mark, Row, Strip, Tags
from pytest_kafkacheck.report.lives import anchor
from pytest_kafkacheck.report.run_data import RunData

ABOUT = (
    "▲ a fault or step of a cause, ● an occurrence of an anomaly: click one to see what happened to its value. "
    "The marks of an anomaly are its first occurrences."
)


def findings(run: RunData) -> tuple[Strip, ...]:
    if run.verdict is None or not run.verdict.findings:
        return ()
    rows = [_cause(number, cause) for number, cause in enumerate(run.verdict.causes)]
    rows += [_finding(finding) for finding in run.verdict.findings]
    return (Strip(title="Findings", about=ABOUT, rows=tuple(rows)),)


def _cause(number: int, cause: Cause) -> Row:
    return Row(name=f"cause {number + 1}: {cause.kind}", marks=tuple(_steps(cause)), tags=Tags(log=_only(cause.logs)))


def _only(logs: tuple[str, ...]) -> str:
    return logs[0] if len(logs) == 1 else ""


def _steps(cause: Cause) -> Iterator[Mark]:
    for step in cause.steps:
        if step.time is not None:
            time = round(step.time * 1000)
            look = "cause" if step.is_fault else "step"
            yield Mark(time=time, look=look, sign="▲", title=f"{clock(time)}: {step.text}")


def _finding(finding: Finding) -> Row:
    marks = tuple(
        Mark(
            time=round(example["time"] * 1000),
            look=finding.severity if not finding.allowed else "note",
            sign="●",
            title=f"{finding.anomaly} at {clock(example['time'] * 1000)}: show what happened",
            link=anchor(finding.anomaly, number),
        )
        for number, example in enumerate(finding.examples)
        if example.get("time") is not None
    )
    allowed = " (allowed)" if finding.allowed else ""
    return Row(name=f"{finding.anomaly} ×{finding.count:,}{allowed}", marks=marks, tags=Tags(anomaly=finding.anomaly))
