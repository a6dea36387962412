"""Client processes: when each ran, when it did anything, and how it ended."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator

from pytest_kafkacheck.report.axis import Axis, clock
from pytest_kafkacheck.report.cube import Cube
from pytest_kafkacheck.report.lane import Mark, Row, Span, Strip, Tags
from pytest_kafkacheck.report.run_data import RunData

ABOUT = "Thin: it ran. Full: it sent, or polled records. † killed by a fault, ✖ crashed."
ENDS = {"killed": ("†", "step", "was killed"), "crashed": ("✖", "invalid", "crashed")}


def clients(run: RunData, counts: Cube) -> tuple[Strip, ...]:
    times: dict[int, dict[str, int]] = defaultdict(dict)
    for row in run.steps("worker"):
        times[row["value"]["process"]][row["value"]["event"]] = run.axis.at(row["invoked"])
    processes = sorted({*times, *counts.active})
    rows = tuple(_row(process, times.get(process, {}), counts, run) for process in processes)
    return (Strip(title="Client processes", about=ABOUT, rows=rows),) if rows else ()


def _row(process: int, times: dict[str, int], counts: Cube, run: RunData) -> Row:
    name = run.clients.get(process, "client")
    begin = times.get("started", 0)
    end = next((time for event, time in times.items() if event != "started"), run.axis.span)
    ran = Span(begin=begin, end=end, look="ran", title=f"{name} ran from {clock(begin)} to {clock(end)}")
    spans = (ran, *_active(name, counts.active.get(process, {}), run.axis))
    marks = tuple(
        Mark(time=times[event], look=look, sign=sign, title=f"{clock(times[event])}: {name} {what}")
        for event, (sign, look, what) in ENDS.items()
        if event in times
    )
    return Row(name=f"{name} (process {process})", spans=spans, marks=marks, tags=Tags(process=str(process)))


def _active(name: str, counts: dict[int, int], axis: Axis) -> Iterator[Span]:
    """Neighbouring buckets with operations as one span."""
    first: int | None = None
    for bucket in range(axis.buckets + 1):
        if counts.get(bucket):
            first = bucket if first is None else first
        elif first is not None:
            begin, end = first * axis.width, min(bucket * axis.width, axis.span)
            total = sum(counts.get(each, 0) for each in range(first, bucket))
            title = f"{name}: {total:,} sends or polled records from {clock(begin)} to {clock(end)}"
            yield Span(begin=begin, end=end, look="active", title=title)
            first = None
