"""Lets something stand still for two reasons: a fault pauses it, and a look at it freezes it for a moment."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable
from typing import Literal

log = logging.getLogger(__name__)

State = Literal["running", "frozen", "paused"]


class Standstill:
    """The end of one reason does not end the other. Safe for use by several threads.

    apply  brings it into that state, in which it may be already. What it raises is passed on.
    """

    def __init__(self, apply: Callable[[State], None]) -> None:
        self._apply = apply
        self._lock = threading.Lock()
        self._is_paused = False
        self._thawing: threading.Timer | None = None
        """While it is frozen: ends that."""

    @property
    def is_frozen(self) -> bool:
        return self._thawing is not None

    def pause(self) -> None:
        with self._lock:
            self._apply("paused")
            self._is_paused = True

    def resume(self) -> None:
        with self._lock:
            self._is_paused = False
            self._apply("running" if self._thawing is None else "frozen")

    def freeze(self, limit: float) -> bool:
        """For `limit` seconds at most. False where it is paused or frozen already."""
        with self._lock:
            if self._is_paused or self._thawing is not None:
                return False
            self._thawing = threading.Timer(limit, self._thaw_late)
            self._thawing.daemon = True
            try:
                self._apply("frozen")
                self._thawing.start()
            except BaseException:
                self._thawing = None
                raise
            return True

    def thaw(self) -> None:
        with self._lock:
            if self._thawing is None:
                return
            self._thawing.cancel()
            self._thawing = None
            self._apply("paused" if self._is_paused else "running")

    def _thaw_late(self) -> None:
        try:
            self.thaw()
        except OSError as problem:  # whoever uses it next sees that it stands still
            log.warning("it was not thawed: %s", problem)
