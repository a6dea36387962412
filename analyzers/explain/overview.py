"""The time line of a stored verdict: its causes, and what the brokers themselves logged meanwhile. Needs no Spark."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

from analyzers.history.surroundings import Clock, LogLine, log_lines
from analyzers.verdict.finding import Cause

BEFORE, AFTER = 1.0, 3.0
"""Seconds around a cause from which log lines are shown."""

MOST_LINES = 40
"""Of the brokers, for one cause."""


@dataclass(frozen=True, kw_only=True)
class Moment:
    """One line of the timeline."""

    time: float | None
    """s since the run's first operation."""
    who: str
    what: str
    is_fault: bool = False
    """Whether a fault begins here, from which later lines may be counted."""


def timeline(
    cause: Cause, files: Mapping[str, Path], clock: Clock | None
) -> tuple[tuple[Moment, ...], tuple[str, ...]]:
    """The steps of a cause and the brokers' log lines of that time, in order; and what is left out.

    files  the log of each node. clock: None where the run has no record that relates dates to its times.
    """
    known = [step.time for step in cause.steps if step.time is not None]
    lines: list[LogLine] = []
    if known and clock is not None:
        lines = sorted(
            _lines(files, clock, cause, min(known) - BEFORE, max(known) + AFTER), key=lambda each: each.time
        )
    moments = [
        *(
            Moment(time=step.time, who="history", what=step.text, is_fault=step.is_fault)
            for step in cause.steps
        ),
        *(Moment(time=line.time, who=line.node, what=line.text) for line in lines[:MOST_LINES]),
    ]
    notes = []
    if len(lines) > MOST_LINES:
        notes.append(f"log lines of brokers: the first {MOST_LINES} of {len(lines):,} are shown")
    if known and clock is None:
        notes.append(
            "log lines of brokers are not shown: environment.json does not relate their dates to the run"
        )
    ordered = sorted(moments, key=lambda each: (each.time is None, each.time or 0.0))
    return tuple(ordered), tuple(notes)


def _lines(
    files: Mapping[str, Path], clock: Clock, cause: Cause, first: float, last: float
) -> Iterator[LogLine]:
    for node, file in sorted(files.items()):
        with ExitStack() as stack:
            try:
                opened: Iterable[str] = stack.enter_context(file.open(errors="replace"))
            except OSError:
                continue  # A run that was copied without its logs has a time line all the same.
            yield from log_lines(node, opened, clock, logs=cause.logs, first=first, last=last)
