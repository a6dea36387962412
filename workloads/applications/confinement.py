"""What faults do to an instance of an application: its packets, its processor time, its memory."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path

from workloads.applications.control_group import ControlGroup
from workloads.applications.packet_gate import PacketGate

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
