"""What is said of a finding, as values; and how values and moments are named in it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from analyzers.explain.evidence.log import Log
from analyzers.history.relative_time import seconds
from workloads.history.schema import VALUE_BITS

Entry = tuple[int, int, str, str]
"""Of a time line: time (ns), order within an instant, who, what."""


@dataclass(frozen=True, kw_only=True)
class Moment:
    """One line of the time line."""

    time: float | None
    """s since the run's first operation."""
    who: str
    what: str


@dataclass(frozen=True, kw_only=True)
class Slot:
    """What was seen at one offset; of an offset at which nothing was seen, `value` is None."""

    offset: int
    value: str | None
    epoch: int | None = None
    written: str = ""
    read: str = ""
    focus: bool = False


@dataclass(frozen=True, kw_only=True)
class Table:
    """Rows of text; `marked` are those that the finding is about, by position."""

    title: str
    headings: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    marked: frozenset[int] = frozenset()


@dataclass(frozen=True, kw_only=True)
class Surroundings:
    """What transactions or groups add to an explanation."""

    entries: tuple[Entry, ...] = ()
    tables: tuple[Table, ...] = ()
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, kw_only=True)
class Explanation:
    run: str
    anomaly: str
    number: int
    """Which of `count`, from 1, in order of time."""
    count: int
    summary: str
    log: Log | None
    """None of a circle of transactions, which may lie in several."""
    facts: Mapping[str, str]
    """What the check itself shows, as text."""
    line: tuple[Moment, ...]
    tables: tuple[Table, ...] = ()
    """Of transactions and groups, more than a line says."""
    slots: tuple[Slot, ...] = ()
    readers: tuple[tuple[str, str], ...] = ()
    """Who, and the records nearby in the order in which they came to it."""
    notes: tuple[str, ...] = ()
    """What is left out, and how much of it."""


@dataclass(frozen=True)
class Clock:
    """Of one run. began: ns, of its first operation; None where it has none."""

    began: int | None

    def at(self, time: int | None) -> str:
        moment = seconds(time, self.began)
        return "at an unknown time" if moment is None else f"at {moment:.3f} s"


def name(value: int | None) -> str:
    """A value as its writer and the number it gave it."""
    return (
        "no value of this run"
        if value is None
        else f"{value >> VALUE_BITS}:{value & ((1 << VALUE_BITS) - 1)}"
    )


def operation_name(op: int) -> str:
    """An operation, which counts as values do where its process numbers it so, and is a number elsewhere."""
    return name(op) if 0 < op >> VALUE_BITS < 1 << 20 else str(op)


def line(entries: list[Entry], began: int | None) -> tuple[Moment, ...]:
    """In order of time."""
    return tuple(Moment(time=seconds(at, began), who=who, what=what) for at, _, who, what in sorted(entries))
