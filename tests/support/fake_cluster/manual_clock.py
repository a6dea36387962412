"""A clock that tests move. It is also the event that ends a run."""

from __future__ import annotations

import threading
from collections.abc import Callable


class ManualClock(threading.Event):
    """A wait moves the clock, and calls what a test has arranged for that time. Time begins at 100 s."""

    def __init__(self) -> None:
        super().__init__()
        self.now = 100.0
        self._arranged: list[tuple[float, Callable[[], object]]] = []

    def time(self) -> float:
        return self.now

    def arrange(self, at: float, action: Callable[[], object]) -> None:
        """Call `action` that many seconds after the beginning."""
        self._arranged.append((100.0 + at, action))

    def wait(self, timeout: float | None = None) -> bool:
        assert timeout is not None
        if not self.is_set():
            end = self.now + timeout
            for at, action in sorted(self._arranged, key=lambda each: each[0]):
                if at <= end and not self.is_set():
                    self.now = max(self.now, at)
                    self._arranged = [each for each in self._arranged if each[1] is not action]
                    action()
            if not self.is_set():
                self.now = end
        return self.is_set()
