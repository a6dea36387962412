"""An explanation, as values: a timeline, tables and notes, and the names that it uses. How they are printed is up to
the caller."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

from pyspark.sql import Row

from analyzers.catalogue.anomaly import Operation, Value
from analyzers.explain.overview import Moment
from analyzers.explain.rows import Log
from analyzers.history.surroundings import seconds
from analyzers.verdict.wording import client_name, write_name
from workloads.history.schema import VALUE_BITS


class Entry(NamedTuple):
    """One line of a timeline in the making. Entries sort by time, then by `order`."""

    time: int
    """ns."""
    order: int
    """Position among the entries of the same instant, so that causes come before effects."""
    who: str
    what: str


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


def value_name(value: int | None) -> str:
    """A value as writer:sequence."""
    return "no value of this run" if value is None else Value("").to_text(value)


def operation_name(op: int) -> str:
    """An operation as process:sequence if its id has that form, else as a plain number."""
    return Operation("").to_text(op)


@dataclass(frozen=True, kw_only=True)
class Labels:
    """began: time of the run's first operation, ns; None for a run without any. clients: names by process number."""

    began: int | None
    clients: Mapping[int, str] = field(default_factory=dict)

    def at(self, time: int | None) -> str:
        moment = seconds(time, self.began)
        return "at an unknown time" if moment is None else f"at {moment:.3f} s"

    def timeline(self, entries: Iterable[Entry]) -> tuple[Moment, ...]:
        return tuple(
            Moment(time=seconds(entry.time, self.began), who=entry.who, what=entry.what)
            for entry in sorted(entries)
        )

    def client(self, process: int) -> str:
        """``producer 0``, or ``process 4`` for a client of unknown role."""
        return client_name(process, self.clients)

    def reader(self, row: Row) -> str:
        """From a row with process, session and final."""
        name = self.client(row.process)
        is_named = row.session is None or name == f"session {row.session}"
        session = "" if is_named else f", session {row.session}"
        return f"{name}{session}{', final read' * bool(row.final and not name.startswith('final'))}"

    def write(self, value: int | None) -> str:
        """``2:7115``, as tables have it, and its name where the writer's role is known: ``(producer 0's 7,116th
        write)``."""
        if value is None or value >> VALUE_BITS not in self.clients:
            return value_name(value)
        return f"{value_name(value)} ({write_name(value, self.clients)})"
