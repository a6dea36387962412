"""A fake of the clock of a node's process."""

from __future__ import annotations

from typing import Any


class FakeClock:
    """Every new process has the right time."""

    def __init__(self, node: Any) -> None:
        self.node = node
        self.wrong: tuple[str, float, float] = ("", 0, 0)

    def set(self, offset: float, ppm: float = 0.0) -> None:
        assert self.node.state() != "stopped"
        if self.node.acts("set"):
            self.wrong = (self.node.incarnation(), offset, ppm)

    def get(self) -> tuple[float, float]:
        return self.wrong[1:] if self.wrong[0] == self.node.incarnation() else (0.0, 0.0)

    def clear(self) -> None:
        if self.node.acts("clear"):
            self.wrong = ("", 0, 0)
