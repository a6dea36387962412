"""The time of a schedule that is carried out, and the reasons to end it early."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable

from nemesis.tasks import wait_until

log = logging.getLogger(__name__)

STEP = 0.05
"""Seconds between two looks at what ends a wait early."""


class RunClock:
    """Shared by the tasks of all events. They begin nothing more once the run is ending, and wait for nothing once it
    is stopped.

    clock  returns monotonic seconds.
    began  when the run began, in seconds of the clock.
    """

    def __init__(self, clock: Callable[[], float]) -> None:
        self.seconds = clock
        self.began = 0.0
        self._stop = threading.Event()
        self._is_finishing = False
        self._problems: list[BaseException] = []

    def begin(self, stop: threading.Event) -> None:
        """stop  set by others to stop the run."""
        self._stop = stop
        self.began = self.seconds()

    def finish(self) -> None:
        """From now on the run is ending, and is not stopped: what it waits for may still come."""
        self._is_finishing = True

    def fail(self, problem: BaseException) -> None:
        """Stop the run."""
        self._problems.append(problem)

    def raise_first(self) -> None:
        """Raise the first problem, if there is one."""
        if self._problems:
            raise self._problems[0]

    def now(self) -> int:
        """ns"""
        return round(self.seconds() * 1e9)

    @property
    def is_finishing(self) -> bool:
        return self._is_finishing

    @property
    def is_stopped(self) -> bool:
        return self._stop.is_set() or bool(self._problems)

    @property
    def is_ending(self) -> bool:
        return self._is_finishing or self.is_stopped

    def pause(self, seconds: float) -> None:
        """Wait that long, or until others stop the run."""
        self._stop.wait(seconds)

    def wait(self, until: float) -> bool:
        """Whether that time came before the run was to end."""
        while not self.is_ending and (left := until - self.seconds()) > 0:
            self.pause(min(left, STEP))
        return not self.is_ending

    def wait_until(self, condition: Callable[[], bool], limit: float) -> bool:
        """Whether it became true within `limit` seconds. An OSError counts as false: no broker answers just now."""

        def is_true() -> bool:
            try:
                return condition()
            except OSError as problem:
                log.info("not answered: %r", problem)
                return False

        return wait_until(
            is_true, limit=limit, clock=self.seconds, sleep=self.pause, abandon=lambda: self.is_stopped
        )
