"""In which phase the run was."""

from __future__ import annotations

from itertools import pairwise

from pytest_kafkacheck.report.axis import clock
from pytest_kafkacheck.report.lane import Row, Span, Strip
from pytest_kafkacheck.report.run_data import RunData

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
