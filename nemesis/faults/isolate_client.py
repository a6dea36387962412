"""Isolate client: no packet passes between a client process and any broker."""

from __future__ import annotations

from dataclasses import dataclass

from nemesis.event import OPEN, Event
from nemesis.fault_context import FaultContext, Proof
from nemesis.steps.client_process import LIMIT, AffectsClient
from nemesis.targets import Groups, Target
from nemesis.topology import Topology


@dataclass(frozen=True, kw_only=True)
class IsolateClient(AffectsClient):
    """Connections stay open: neither side gets an error."""

    name = "isolate-client"
    proved_by = "the process tried to send or receive, and nothing passed"
    end_proved_by = "the process is connected; it was not before the heal"

    def check(self, topology: Topology, target: Target | Groups) -> None:
        role = target.role if isinstance(target, Target) else None
        if role in topology.commands:
            raise ValueError(
                f"the connections of {role} cannot be cut from inside its process, which is a program of yours; use "
                f"isolate('{target}'), which cuts them in the kernel"
            )

    def inject(self, context: FaultContext) -> None:
        context.clients.isolate(context.node_id)

    def verify_injected(self, context: FaultContext) -> Proof:
        has_tried = context.wait_until(lambda: bool(context.clients.isolated(context.node_id)), LIMIT)
        return Proof(has_tried, {"tried_in_vain": context.clients.isolated(context.node_id)})

    def heal(self, context: FaultContext) -> None:
        try:
            context.notes["tried"] = context.clients.isolated(context.node_id)
        finally:
            context.clients.connect(context.node_id)

    def verify_healed(self, context: FaultContext) -> Proof:
        tries = context.notes.get("tried")
        is_connected = context.wait_until(lambda: context.clients.isolated(context.node_id) is None, LIMIT)
        evidence: dict[str, object] = {"tried_in_vain": tries, "connected": is_connected}
        if context.effective and tries is None:
            return Proof(False, {**evidence, "ended_early": "it was connected before the fault's end"})
        return Proof(is_connected, evidence)


def isolate_client(target: str, *, lasting: float = OPEN, at: float = 0, after: str | None = None) -> Event:
    """Nothing passes between client processes and any broker, and neither side gets an error."""
    return Event.of(IsolateClient(), target, at=at, after=after, lasting=lasting)
