"""An explanation, as values: a timeline, tables and notes. How they are printed is up to the caller."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from analyzers.explain.evidence.log import Log
from analyzers.explain.time_axis import Entry, Moment


@dataclass(frozen=True, kw_only=True)
class Slot:
    """One offset of the log, with one value that was seen there."""

    offset: int
    value: str | None
    """None if nothing was seen at the offset."""
    epoch: int | None = None
    written: str = ""
    read: str = ""
    focus: bool = False
    """Whether the finding is about it."""


@dataclass(frozen=True, kw_only=True)
class Table:
    title: str
    headings: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    marked: frozenset[int] = frozenset()
    """Positions of the rows that the finding is about."""


@dataclass(frozen=True, kw_only=True)
class Surroundings:
    """What the transactions or the groups of a finding add to its explanation."""

    entries: tuple[Entry, ...] = ()
    tables: tuple[Table, ...] = ()
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, kw_only=True)
class Explanation:
    """One occurrence of an anomaly in one run, with its surroundings."""

    run: str
    anomaly: str
    number: int
    """Which of the `count` occurrences, from 1, in order of time."""
    count: int
    summary: str
    subject: str | None
    """What the finding is about, such as ``t-0`` or ``node 2``. None for a cycle of transactions, which may lie in
    several logs."""
    log: Log | None
    """None for a finding that concerns no single partition, such as a cycle of transactions."""
    facts: Mapping[str, str]
    """The evidence of the check, as text."""
    line: tuple[Moment, ...]
    tables: tuple[Table, ...] = ()
    slots: tuple[Slot, ...] = ()
    readers: tuple[tuple[str, str], ...] = ()
    """A reader, and the records near the finding in the order in which it got them."""
    notes: tuple[str, ...] = ()
    """What is left out, and how much of it."""
