"""Fake time for tasks that wait: only one task runs at a time, and time passes when all of them wait.

The clock is also the event that ends a run.
"""

from __future__ import annotations

import heapq
import itertools
import threading
from collections.abc import Callable
from typing import Any, TypeVar

T = TypeVar("T")

FIRST = 100.0
"""Seconds; time begins here."""


class FakeTask:
    """Work beside the task that started it."""

    def __init__(self, clock: ManualClock) -> None:
        self._clock = clock
        self._outcome: list[tuple[Any, BaseException | None]] = []
        self._joining: list[threading.Semaphore] = []

    def end(self, result: Any, problem: BaseException | None) -> None:
        self._outcome.append((result, problem))
        for turn in self._joining:
            self._clock.wake(turn)

    def done(self) -> bool:
        return bool(self._outcome)

    def result(self) -> Any:
        if not self._outcome:
            turn = threading.Semaphore(0)
            self._joining.append(turn)
            self._clock.pass_on(turn)
        result, problem = self._outcome[0]
        if problem is not None:
            raise problem
        return result


class ManualClock(threading.Event):
    """Tasks take turns in the order of the times for which they wait; among equals, in the order of their waits."""

    def __init__(self) -> None:
        super().__init__()
        self.now = FIRST
        self._order = itertools.count()
        self._waiting: list[tuple[float, int, threading.Semaphore | Callable[[], object]]] = []

    def time(self) -> float:
        return self.now

    def arrange(self, at: float, action: Callable[[], object]) -> None:
        """Call `action` that many seconds after the beginning."""
        heapq.heappush(self._waiting, (FIRST + at, next(self._order), action))

    def start(self, work: Callable[[], T], name: str) -> FakeTask:
        """A `nemesis.tasks.Start`: the work begins when the others wait."""
        task, turn = FakeTask(self), threading.Semaphore(0)

        def run() -> None:
            turn.acquire()
            try:
                outcome: tuple[Any, BaseException | None] = work(), None
            except BaseException as problem:
                outcome = None, problem
            task.end(*outcome)
            self._next()

        threading.Thread(target=run, name=name, daemon=True).start()
        self.wake(turn)
        return task

    def wait(self, timeout: float | None = None) -> bool:
        assert timeout is not None
        if not self.is_set():
            turn = threading.Semaphore(0)
            heapq.heappush(self._waiting, (self.now + timeout, next(self._order), turn))
            self.pass_on(turn)
        return self.is_set()

    def wake(self, turn: threading.Semaphore) -> None:
        """It is the turn of that task as soon as the others wait."""
        heapq.heappush(self._waiting, (self.now, next(self._order), turn))

    def pass_on(self, turn: threading.Semaphore) -> None:
        """Let the others run until it is this turn."""
        self._next()
        turn.acquire()

    def _next(self) -> None:
        """Give the turn to the task that has waited for the earliest time; call what was arranged before that."""
        while self._waiting:
            at, _, following = heapq.heappop(self._waiting)
            if not self.is_set():
                self.now = max(self.now, at)
            if isinstance(following, threading.Semaphore):
                following.release()
                return
            following()
