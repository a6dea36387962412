"""CPU limit of an application: its processes get little processor time, and stand still for the rest."""

from __future__ import annotations

from dataclasses import dataclass

from nemesis.event import OPEN, Event
from nemesis.fault import FaultContext, Proof
from nemesis.steps.processes import CLIENT_LIMIT, AffectsClient
from nemesis.targets import Groups, Target, applications_only
from nemesis.topology import Topology
from nemesis.validation import number


@dataclass(frozen=True, kw_only=True)
class CpuApp(AffectsClient):
    """cores: processor time of all processes of an instance together, such as 0.1 for a tenth of one core.

    A process that replaces one that was killed has no limit.
    """

    cores: float = 0.1

    name = "cpu-app"
    proved_by = "the limit is in force, and the kernel throttled the processes"
    end_proved_by = "the limit is lifted; it was in force until the heal"
    needs = frozenset({"cpu"})

    def __post_init__(self) -> None:
        number("cpu cores", self.cores, least=0.01, most=4096)

    def check(self, topology: Topology, target: Target | Groups) -> None:
        applications_only(topology, target, "Other client processes cannot be limited")

    def inject(self, context: FaultContext) -> None:
        context.notes["before"] = context.clients.throttled(context.node_id)
        context.clients.limit_cpu(context.node_id, self.cores)

    def verify_injected(self, context: FaultContext) -> Proof:
        clients, process = context.clients, context.node_id
        is_throttled = context.wait_until(
            lambda: self._in_force(context) and clients.throttled(process) > context.notes["before"],
            CLIENT_LIMIT,
        )
        held_back = clients.throttled(process) - context.notes["before"]
        return Proof(is_throttled, {"cores": clients.cpu_limit(process), "held_back": held_back})

    def heal(self, context: FaultContext) -> None:
        try:
            context.notes["end"] = self._in_force(context)
            context.notes["held_back"] = context.clients.throttled(context.node_id) - context.notes["before"]
        finally:
            context.clients.limit_cpu(context.node_id, None)

    def verify_healed(self, context: FaultContext) -> Proof:
        is_lifted = context.wait_until(
            lambda: context.clients.cpu_limit(context.node_id) is None, CLIENT_LIMIT
        )
        evidence: dict[str, object] = {"held_back": context.notes.get("held_back"), "lifted": is_lifted}
        if context.effective and not context.notes.get("end"):
            return Proof(False, {**evidence, "ended_early": "the limit was not in force at the fault's end"})
        return Proof(is_lifted, evidence)

    def _in_force(self, context: FaultContext) -> bool:
        """Apart from the kernel's rounding."""
        cores = context.clients.cpu_limit(context.node_id)
        return cores is not None and abs(cores - self.cores) < 0.001


def cpu_app(
    target: str, *, lasting: float = OPEN, at: float = 0, after: str | None = None, cores: float = 0.1
) -> Event:
    """Instances of an application get the time of ``cores`` cores each, and stand still for the rest."""
    return Event.of(CpuApp(cores=cores), target, at=at, after=after, lasting=lasting)
