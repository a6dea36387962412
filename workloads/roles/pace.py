"""At a given rate: what is due."""

from __future__ import annotations


class Pace:
    """How many records are due at a rate, and when they were. After an outage it makes up for one second at most.

    skipped  records that were due and are left out.
    """

    def __init__(self, rate: float, now: float) -> None:
        self.skipped = 0.0
        self._rate = rate
        self._begin = now
        self._sent = 0

    def due(self, now: float) -> int:
        backlog = (now - self._begin) * self._rate - self._sent
        most = max(self._rate, 1.0)
        if backlog > most:
            self.skipped += backlog - most
            self._begin += (backlog - most) / self._rate
            backlog = most
        return int(backlog)

    def take(self, count: int) -> list[int]:
        """Count so many records as sent. Returns when they were due, in ns of the clock that `now` is read from."""
        first, self._sent = self._sent, self._sent + count
        return [int((self._begin + (first + number + 1) / self._rate) * 1e9) for number in range(count)]
