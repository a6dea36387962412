"""Cuts between one client process and some brokers, by the kernel, from the harness's side.

The process has a control group of its own. Processes that it starts, such as a client in another language, belong to
it as well. Each cut is a `PacketGate` of that group. The harness holds it, and not the client: so a client that is
paused, busy or broken is cut and connected at once, and the proof does not depend on its word.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Collection, Iterable, Mapping
from contextlib import suppress
from pathlib import Path

from workloads.applications.control_group import ControlGroup
from workloads.applications.packet_gate import WAYS, PacketGate, Way

END_LIMIT = 1.0
"""Seconds for processes to be gone after SIGKILL."""


class PacketCuts:
    """Of one client process: `pid` and what it starts from now on. Sockets that it has already stay outside.

    The constructor makes the control group, and raises OSError where it cannot. Safe for use by several threads.
    """

    def __init__(self, run: str, process: int, pid: int) -> None:
        self._group = ControlGroup(run, f"client-{process}", {"packets"})
        try:
            Path(self._group.packets, "cgroup.procs").write_text(str(pid))
        except OSError:
            self._group.remove()
            raise
        self._gates: dict[str, PacketGate] = {}
        self._lock = threading.Lock()
        self._is_over = False

    def cut(self, owner: str, brokers: Iterable[tuple[str, int]], ways: Collection[Way] = WAYS) -> None:
        """Let nothing pass between the processes and these brokers in these ways, until `restore`. Raises OSError.

        owner  the event that asks for it. Cuts of different owners add up.
        """
        gate = PacketGate(self._group.packets, brokers, ways)
        with self._lock:
            if self._is_over:
                raise ProcessLookupError("the client process is about to end")
            if owner not in self._gates:
                gate.close()
                self._gates[owner] = gate

    def dropped(self, owner: str) -> Mapping[Way, int] | None:
        """Packets dropped by the owner's cut so far, by their way; None where there is no such cut."""
        with self._lock:
            gate = self._gates.get(owner)
        return None if gate is None else gate.dropped

    def restore(self, owner: str) -> None:
        with self._lock:
            if (gate := self._gates.pop(owner, None)) is not None:
                gate.open()

    def end(self) -> None:
        """Restore all, and accept no other cut: what the process has begun may complete."""
        with self._lock:
            self._is_over = True
            for gate in self._gates.values():
                gate.open()
            self._gates.clear()

    def remove(self) -> None:
        """Once the processes have got SIGKILL. A group with a process that lives on stays; the next session removes
        it."""
        self.end()
        members = self._group.packets / "cgroup.procs"
        deadline = time.monotonic() + END_LIMIT
        with suppress(OSError):  # somebody else has removed it
            while members.read_text() and time.monotonic() < deadline:
                time.sleep(0.01)
        self._group.remove()
