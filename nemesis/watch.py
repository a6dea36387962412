"""What waits for the moment that a trigger names."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Protocol

TRIGGER_INTERVAL = 0.05
"""Seconds between two looks at a state of the cluster."""


class Watch(Protocol):
    """For one thread."""

    @property
    def interval(self) -> float:
        """Seconds between two looks."""

    @property
    def seen(self) -> str:
        """At the last look that was answered, in words."""

    @property
    def met(self) -> Mapping[str, object] | None:
        """What was seen as the moment came, as JSON values, where it says more than the trigger."""

    @property
    def is_over(self) -> bool:
        """Whether the moment has come, was held, and is over by now."""

    def has_come(self) -> bool:
        """Look once. Raises what the look raises."""

    def release(self) -> None:
        """Hold the moment no longer."""

    def close(self) -> None:
        """Release, and close what the looks have opened. There is no look afterwards."""


class Observed:
    """Implements `Watch`: looks repeatedly whether a moment has come since the first look, and does not hold it."""

    interval = TRIGGER_INTERVAL
    met = None
    is_over = False

    def __init__(
        self,
        observe: Callable[[], Any],
        comes: Callable[[Any], bool],
        says: Callable[[Any], str],
        *,
        close: Callable[[], None] = lambda: None,
    ) -> None:
        self._observe = observe
        self._comes = comes
        self._says = says
        self._close = close
        self.seen = "nothing"

    def has_come(self) -> bool:
        now = self._observe()
        self.seen = self._says(now)
        return self._comes(now)

    def release(self) -> None:
        pass

    def close(self) -> None:
        self._close()
