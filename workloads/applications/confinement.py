"""What faults do to the processes of a client: to their packets, their processor time, their memory.

An instance of an application is confined by its worker process. The packets of other clients are cut by the harness.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Collection, Iterable, Mapping
from contextlib import suppress
from pathlib import Path

from workloads.applications.control_group import ControlGroup
from workloads.applications.packet_gate import WAYS, PacketGate, Way

NO_LIMIT = -1
"""In place of a limit, where there is none."""


class Confinement:
    """One instance of an application in a run: implements `workloads.roles.context.Limits`.

    wanted  see `ControlGroup`.
    gate    in front of the brokers; None if "packets" is not wanted.
    The constructor raises Unavailable.
    """

    def __init__(
        self, run: str, instance: int, wanted: Iterable[str], brokers: Iterable[tuple[str, int]]
    ) -> None:
        self._wanted = frozenset(wanted)
        self._group = ControlGroup(run, f"app-{instance}", self._wanted)
        self.gate = PacketGate(self._group.packets, brokers) if "packets" in self._wanted else None

    @property
    def folders(self) -> tuple[Path, ...]:
        """As `ControlGroup.folders`."""
        return self._group.folders

    def limit(self, what: str, value: float | None) -> None:
        if what == "cpu":
            self._group.limit_cpu(value)
        elif what == "memory":
            used, _ = self._group.memory()
            self._group.limit_memory(None if value is None else used + int(value))

    def counts(self) -> Mapping[str, int]:
        """cpu_limit in thousandths of a core, memory_used and memory_limit in bytes; `NO_LIMIT` for no limit."""
        counts = {}
        if "cpu" in self._wanted:
            cores = self._group.cpu_limit()
            counts["cpu_limit"] = NO_LIMIT if cores is None else round(cores * 1000)
            counts["throttled"] = self._group.throttled()
        if "memory" in self._wanted:
            used, allowed = self._group.memory()
            counts["memory_used"] = used
            counts["memory_limit"] = NO_LIMIT if allowed is None else allowed
            counts["memory_reached"] = self._group.reached()
        return counts

    def remove(self) -> None:
        """Once the processes have ended."""
        if self.gate is not None:
            self.gate.open()
        self._group.remove()


def why_not(wanted: str) -> str | None:
    """Why this host cannot confine an application in that way, found by trying it; None where it can."""
    try:
        trial = Confinement("trial", 0, {wanted}, [("127.0.0.1", 9)])
        try:
            if trial.gate is not None:
                trial.gate.close()
        finally:
            trial.remove()
    except OSError as error:
        return str(error)
    return None


END_LIMIT = 1.0
"""Seconds for processes to be gone after SIGKILL."""


class PacketCuts:
    """Cuts between one client process and some brokers, by the kernel, from the harness's side: of `pid` and what it
    starts from now on, such as a client in another language. Sockets that it has already stay outside.

    The process has a control group of its own, and each cut is a `PacketGate` of that group. The harness holds it,
    and not the client: so a client that is paused, busy or broken is cut and connected at once, and the proof does
    not depend on its word.

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
