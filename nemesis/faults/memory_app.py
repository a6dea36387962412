"""Memory limit of an application: its processes may use hardly more memory than they use already."""

from __future__ import annotations

from dataclasses import dataclass

from nemesis.event import OPEN, Event
from nemesis.fault import FaultContext, Proof
from nemesis.steps.processes import CLIENT_LIMIT, AffectsClient
from nemesis.targets import Groups, Target, applications_only
from nemesis.topology import Topology
from nemesis.validation import count


@dataclass(frozen=True, kw_only=True)
class MemoryApp(AffectsClient):
    """spare_mb: MiB that all processes of an instance together may use in addition to what they use already.

    Where the kernel cannot reclaim enough, it kills one of them, and the instance is started again under the limit. A
    process that replaces one that was killed by another fault has no limit.
    """

    spare_mb: int = 8

    name = "memory-app"
    proved_by = "the limit is in force, and the processes needed more"
    end_proved_by = "the limit is lifted; it was in force until the heal"
    needs = frozenset({"memory"})

    def __post_init__(self) -> None:
        count("memory spare_mb", self.spare_mb, least=0)

    def check(self, topology: Topology, target: Target | Groups) -> None:
        applications_only(topology, target, "Other client processes cannot be limited")

    def inject(self, context: FaultContext) -> None:
        context.notes["before"] = context.clients.memory_reached(context.node_id)
        context.clients.limit_memory(context.node_id, self.spare_mb << 20)

    def verify_injected(self, context: FaultContext) -> Proof:
        clients, process = context.clients, context.node_id

        def is_reached() -> bool:
            return (
                clients.memory(process)[1] is not None
                and clients.memory_reached(process) > context.notes["before"]
            )

        has_effect = context.wait_until(is_reached, CLIENT_LIMIT)
        used, allowed = clients.memory(process)
        reached = clients.memory_reached(process) - context.notes["before"]
        return Proof(has_effect, {"bytes_used": used, "bytes_allowed": allowed, "reached": reached})

    def heal(self, context: FaultContext) -> None:
        try:
            context.notes["end"] = context.clients.memory(context.node_id)[1]
            reached = context.clients.memory_reached(context.node_id)
            context.notes["reached"] = reached - context.notes["before"]
        finally:
            context.clients.limit_memory(context.node_id, None)

    def verify_healed(self, context: FaultContext) -> Proof:
        is_lifted = context.wait_until(
            lambda: context.clients.memory(context.node_id)[1] is None, CLIENT_LIMIT
        )
        evidence: dict[str, object] = {"reached": context.notes.get("reached"), "lifted": is_lifted}
        if context.effective and context.notes.get("end") is None:
            return Proof(False, {**evidence, "ended_early": "the limit was not in force at the fault's end"})
        return Proof(is_lifted, evidence)


def memory_app(
    target: str, *, lasting: float = OPEN, at: float = 0, after: str | None = None, spare_mb: int = 8
) -> Event:
    """Instances of an application may use no more memory than they use now and ``spare_mb`` MiB each."""
    return Event.of(MemoryApp(spare_mb=spare_mb), target, at=at, after=after, lasting=lasting)
