"""How times, clients and what they wrote are shown in the explanation of a run."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from pyspark.sql import Row

from analyzers.explain.names import value_name
from analyzers.explain.time_axis import Entry, Moment
from analyzers.history.relative_time import seconds
from analyzers.verdict.names import client_name, write_name
from workloads.history.schema import VALUE_BITS


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
