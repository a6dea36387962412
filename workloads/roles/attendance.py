"""When a member of a group is away: the members leave in turn, so that at most one of them is away at a time."""

from __future__ import annotations

from typing import NamedTuple


class Attendance(NamedTuple):
    """Of the member `number` (from 0) of a group of `members`; `rejoin`: seconds for which it is away, None: never.

    Time is divided into slots of that length. In the first one all are present, in the next one member 0 is away, and
    so on, over and over again.

    >>> [Attendance(number=1, members=2, rejoin=5).is_present(at) for at in (0, 5, 10, 15, 25)]
    [True, True, False, True, False]
    """

    number: int
    members: int
    rejoin: float | None

    def is_present(self, at: float) -> bool:
        """at: seconds since the member began."""
        return self.rejoin is None or at // self.rejoin % (self.members + 1) != self.number + 1
