"""What is due at the rates of a worker's phases."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import TYPE_CHECKING

from workloads.load import Rate, rates_by_phase

if TYPE_CHECKING:
    from workloads.roles.context import WorkerContext


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


class Paces:
    """The pace of the phase in which the run is, from now on. What was due in an earlier phase and was not sent in it
    is left out."""

    def __init__(self, context: WorkerContext, rate: Rate) -> None:
        self._context = context
        self._rates = rates_by_phase(rate)
        self._skipped = 0.0
        self._enter(context.phase)

    def due(self) -> int | None:
        """How many records are due; None in a phase without a limit. Reports what was left out."""
        if (phase := self._context.phase) != self._phase:
            if self._pace is not None:
                self._skipped += self._pace.due(time.monotonic()) + self._pace.skipped
            self._enter(phase)
        if self._pace is None:
            return None
        due = self._pace.due(time.monotonic())
        self._context.counts["skipped"] = int(self._skipped + self._pace.skipped)
        return due

    def take(self, count: int) -> Sequence[int]:
        """As `Pace.take`; empty in a phase without a limit."""
        return () if self._pace is None else self._pace.take(count)

    def _enter(self, phase: str) -> None:
        self._phase = phase
        rate = self._rates[phase]
        self._pace = Pace(rate, time.monotonic()) if rate is not None else None
