"""The moments of each cause and of each finding."""

from __future__ import annotations

from collections.abc import Iterator

import pyarrow.compute as pc

from analyzers.verdict.finding import Cause, Finding
from pytest_kafkacheck.report.axis import clock
from pytest_kafkacheck.report.lane import Mark, Row, Span, Strip, Tags
from pytest_kafkacheck.report.lives import anchor
from pytest_kafkacheck.report.run_data import RunData

ABOUT = (
    "▲ a fault or step of a cause, below it when the lost writes were acknowledged. ● an occurrence of an anomaly: "
    "click one to see what happened to its value. "
    "The marks of an anomaly are its first occurrences."
)


def findings(run: RunData) -> tuple[Strip, ...]:
    if run.verdict is None or not run.verdict.findings:
        return ()
    rows: list[Row] = []
    for number, cause in enumerate(run.verdict.causes, start=1):
        rows += _cause(number, cause, run)
    rows += [_finding(finding) for finding in run.verdict.findings]
    return (Strip(title="Findings", about=ABOUT, rows=tuple(rows)),)


def _cause(number: int, cause: Cause, run: RunData) -> Iterator[Row]:
    tags, marks = Tags(log=_only(cause.logs)), tuple(_steps(cause))
    if cause.is_determined or marks:
        yield Row(name=_name(number, cause), marks=marks, tags=tags)
    lost = tuple(span for log in cause.logs if (span := _cut_away(log, cause, run)) is not None)
    if lost:
        yield Row(name=f"lost by cause {number}", spans=lost, tags=tags)


def _name(number: int, cause: Cause) -> str:
    return f"cause {number}: {cause.title}"


def _cut_away(log: str, cause: Cause, run: RunData) -> Span | None:
    """When the writes were acknowledged whose offsets were cut, and which no final read found."""
    cuts = cause.cuts_of(log)
    if not cuts:
        return None
    low, high = min(cut.offset for cut in cuts), max(cut.log_end for cut in cuts)
    topic, _, partition = log.rpartition("-")
    field = pc.field
    between = (field("offset") >= low) & (field("offset") < high)
    mine = (field("topic") == topic) & (field("partition") == int(partition)) & between
    acked = run.some_records(["value", "completed"], mine & (field("f") == "send") & (field("type") == "ok"))
    found = run.some_records(["value"], field("final") & field("value").isin(acked["value"].combine_chunks()))
    lost = acked.filter(pc.invert(pc.is_in(acked["value"], found["value"].combine_chunks())))
    if not len(lost):
        return None
    times = pc.min_max(lost["completed"]).as_py()
    begin, end = run.axis.at(times["min"]), run.axis.at(times["max"])
    text = f"{len(lost):,} acknowledged writes to {log} that are cut away later"
    return Span(begin=begin, end=end, look="lost", text=text, title=f"{text}, {clock(begin)} to {clock(end)}")


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
    return Row(
        name=f"{finding.anomaly} ×{finding.count:,}{allowed}", marks=marks, tags=Tags(anomaly=finding.anomaly)
    )
