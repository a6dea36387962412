"""The time axis of a run: times are shown in seconds since its first operation."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import NamedTuple

from analyzers.history.relative_time import seconds


class Entry(NamedTuple):
    """One line of a timeline in the making. Entries sort by time, then by `order`."""

    time: int
    """ns."""
    order: int
    """Position among the entries of the same instant, so that causes come before effects."""
    who: str
    what: str


@dataclass(frozen=True, kw_only=True)
class Moment:
    """One line of the timeline."""

    time: float | None
    """s since the run's first operation."""
    who: str
    what: str
    is_fault: bool = False
    """Whether a fault begins here, from which later lines may be counted."""


@dataclass(frozen=True)
class TimeAxis:
    """began: time of the run's first operation, ns; None for a run without any."""

    began: int | None

    def at(self, time: int | None) -> str:
        moment = seconds(time, self.began)
        return "at an unknown time" if moment is None else f"at {moment:.3f} s"

    def timeline(self, entries: Iterable[Entry]) -> tuple[Moment, ...]:
        return tuple(
            Moment(time=seconds(entry.time, self.began), who=entry.who, what=entry.what)
            for entry in sorted(entries)
        )
