"""In which phase the run was; when each fault was requested, and when it was surely and possibly at work."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise

from analyzers.causes.words import fault_text
from analyzers.history.fault_events import FaultEvent, spoken
from pytest_kafkacheck.report.axis import Axis, clock
from pytest_kafkacheck.report.lane import Mark, Row, Span, Strip
from pytest_kafkacheck.report.run_data import RunData

ABOUT = "Solid: surely at work. Hatched: possibly at work. ◆ requested (the schedule's time), ◇ healing requested."

MOST_OPEN = 60
"""Events that are shown at once. Of more, the shaded times still show when any fault was at work."""


def faults(run: RunData) -> tuple[Strip, ...]:
    rows = tuple(_row(event, run) for event in run.faults)
    return (Strip(title="Faults", about=ABOUT, rows=rows, folded=len(rows) > MOST_OPEN),) if rows else ()


def _row(event: FaultEvent, run: RunData) -> Row:
    return Row(
        name=f"{event.event} ({_target(event)})",
        spans=tuple(_spans(event, run)),
        marks=tuple(_marks(event, run.axis)),
    )


def _target(event: FaultEvent) -> str:
    if event.processes:
        return f"processes {', '.join(map(str, event.processes))}"
    nodes = ", ".join(map(str, event.nodes))
    return f"{'brokers' if len(event.nodes) > 1 else 'broker'} {nodes}" if nodes else event.target


def window(event: FaultEvent, axis: Axis) -> tuple[int, int] | None:
    """When it may have been at work, ms; None for one whose injection has no record."""
    if event.began is None:
        return None
    possibly = event.heal.possibly if event.heal else None
    end = possibly[1] if possibly else event.ended
    return axis.at(event.began), axis.span if end is None else axis.at(end)


def _spans(event: FaultEvent, run: RunData) -> Iterator[Span]:
    outer = window(event, run.axis)
    if outer is None:
        return
    what = fault_text(event, None, run.clients)
    doubts = " ".join(event.doubts())
    surely = event.heal.surely if event.heal else None
    sure = (
        f"; surely from {clock(run.axis.at(surely[0]))} to {clock(run.axis.at(surely[1]))}" if surely else ""
    )
    title = f"{what}: possibly from {clock(outer[0])} to {clock(outer[1])}{sure}. {doubts}".strip(". ")
    yield Span(begin=outer[0], end=outer[1], look="possibly" if event.took_effect else "failed", title=title)
    if surely:
        begin, end = run.axis.at(surely[0]), run.axis.at(surely[1])
        yield Span(begin=begin, end=end, look="surely", text=spoken(event.fault, event.clients), title=title)


def _marks(event: FaultEvent, axis: Axis) -> Iterator[Mark]:
    for stage, sign, what in ((event.inject, "◆", "injection"), (event.heal, "◇", "healing")):
        if stage is None:
            continue
        time = axis.at(stage.planned if stage.planned is not None else stage.invoked)
        late = "" if stage.planned is None else f", begun at {clock(axis.at(stage.invoked))}"
        text = f"{what} of {event.event} requested for {clock(time)}{late}"
        yield Mark(time=time, look="request", sign=sign, title=text)


WHAT = {
    "start": "the load begins",
    "steady": "the load runs",
    "faults": "the load runs under faults",
    "recovery": "the load has ended or goes on while all brokers come to agree",
    "final": "new clients read every log",
}


def phases(run: RunData) -> tuple[Strip, ...]:
    begun = [
        ("start", 0),
        *((row["value"]["phase"], run.axis.at(row["invoked"])) for row in run.steps("phase")),
    ]
    if len(begun) == 1:
        return ()
    spans = tuple(
        Span(
            begin=begin,
            end=end,
            look=f"phase {'even' if number % 2 else 'odd'}",
            text=name,
            title=f"phase {name}: {WHAT.get(name, '')} ({clock(begin)} to {clock(end)})",
        )
        for number, ((name, begin), (_, end)) in enumerate(pairwise([*begun, ("", run.axis.span)]))
        if name != "end"
    )
    return (Strip(title="Phases", about="The steps of the run.", rows=(Row(name="run", spans=spans),)),)
