"""A fake of the clock of a node's process."""

from __future__ import annotations

from typing import Any


class FakeClock:
    """Every new process has the right time."""

    def __init__(self, node: Any) -> None:
        self.node = node
        self.wrong: tuple[str, float, float] = ("", 0, 0)
        self.since = 0.0

    def set(self, offset: float, ppm: float = 0.0) -> None:
        assert self.node.state() != "stopped"
        if self.node.acts("set"):
            self.wrong = (self.node.incarnation(), offset, ppm)
            self.since = self.node._cluster.clock.now

    def get(self) -> tuple[float, float]:
        return self.wrong[1:] if self.wrong[0] == self.node.incarnation() else (0.0, 0.0)

    def ahead(self, now: float) -> float:
        """Seconds by which the process sees a wrong time."""
        offset, ppm = self.get()
        return offset + (now - self.since) * ppm * 1e-6

    def clear(self) -> None:
        if self.node.acts("clear"):
            self.wrong = ("", 0, 0)
