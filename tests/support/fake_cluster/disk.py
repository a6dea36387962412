"""A fake of a node's file system."""

from __future__ import annotations

import re
from typing import Any


class FakeDisk:
    """A file system of a node's own, with the segments of its logs."""

    def __init__(self, node: Any) -> None:
        self.node = node
        self.full = self.stalled = self.gone = False
        self.directories, self.bytes, self.flushed = 5, 1000, 900
        self.rate: int | None = None
        self.writes: dict[str, float] = {}

    def run(self, command: str, *, timeout: float = 10.0) -> tuple[int, str]:
        assert timeout > 0
        if "/dev/zero" in command:
            return (1, "head: write error: No space left on device") if self.full else (0, "")
        if "touch" in command:
            return (1, "touch: Input/output error") if self.gone else (0, "")
        if command == "true":
            return 0, ""
        if "debugfs" in command:
            return 0, f"written {self.bytes}\ndevice {self.flushed}\n"
        assert self.node.state() == "stopped", "what a broker writes is changed"
        if "md5sum" in command:
            before = self.bytes
            if self.node.acts("damage"):
                self.bytes -= int((re.search(r"truncate -s -(\d+)", command) or [0, 0])[1])
            changed = "b" if "damage" not in self.node.ignores else "a"
            return 0, f"{before}\na  -\n{self.bytes}\n{changed}  -\n"
        assert command.startswith("find /k/data"), command
        before = self.directories
        self.directories = 0 if self.node.acts("wipe") else before
        return 0, f"{before}\n{self.directories}\n"

    def fill(self) -> None:
        self.full = self.node.acts("fill")

    def empty(self) -> None:
        self.full = not self.node.acts("empty")

    def available(self) -> int:
        return 0 if self.full else 1 << 20

    def freeze(self, limit: float) -> None:
        assert limit > 0
        self.stalled = self.node.acts("stall")

    def thaw(self) -> None:
        if self.node.acts("unstall"):
            self.stalled = False

    def frozen(self) -> bool:
        return self.stalled

    def begin_write(self, name: str) -> None:
        self.writes[name] = self.node._cluster.clock.now

    def write_waited(self, name: str) -> tuple[float, bool]:
        """A write is noted as ended only when it is asked for."""
        if not self.stalled:
            return 0.004, True
        return self.node._cluster.clock.now - self.writes[name], False

    def throttle(self, rate: int | None) -> None:
        if self.node.acts("throttle"):
            self.rate = rate

    def throttled(self) -> int | None:
        return self.rate

    def shut_down(self) -> None:
        if self.node.acts("shut_down"):
            self.gone = True
            self.bytes = self.flushed
            if self.node.state() == "running":  # a process that is stopped does not see it
                self.node.die(1)

    def wait_unmounted(self) -> None:
        assert self.node.state() == "stopped"
