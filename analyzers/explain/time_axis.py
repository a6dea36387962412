"""Lines of a timeline: what happened when, and who did it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple


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
