"""Isolate app: no packet passes between an instance of a user's application and any broker."""

from __future__ import annotations

from dataclasses import dataclass

from nemesis.event import OPEN, Event
from nemesis.fault import FaultContext, Proof
from nemesis.steps.processes import CLIENT_LIMIT, AffectsClient
from nemesis.targets import Groups, Target, applications_only
from nemesis.topology import Topology

CLOSING = 0.3
"""Seconds for the packets to be cut. An instance that is frozen goes on after that."""


@dataclass(frozen=True, kw_only=True)
class IsolateApp(AffectsClient):
    """The kernel drops the packets. Connections stay open: neither side gets an error. Everything else that the
    application talks to stays reachable."""

    name = "isolate-app"
    proved_by = "packets of the application were dropped"
    end_proved_by = "packets pass; they did not before the heal"
    needs = frozenset({"packets"})

    def check(self, topology: Topology, target: Target | Groups) -> None:
        applications_only(topology, target, "For other clients, use isolate_client")

    def inject(self, context: FaultContext) -> None:
        context.clients.isolate(context.node_id)
        context.wait_until(lambda: context.clients.isolated(context.node_id) is not None, CLOSING)

    def verify_injected(self, context: FaultContext) -> Proof:
        is_cut = context.wait_until(lambda: bool(context.clients.isolated(context.node_id)), CLIENT_LIMIT)
        return Proof(is_cut, {"dropped": context.clients.isolated(context.node_id)})

    def heal(self, context: FaultContext) -> None:
        try:
            context.notes["dropped"] = context.clients.isolated(context.node_id)
        finally:
            context.clients.connect(context.node_id)

    def verify_healed(self, context: FaultContext) -> Proof:
        dropped = context.notes.get("dropped")
        is_open = context.wait_until(lambda: context.clients.isolated(context.node_id) is None, CLIENT_LIMIT)
        evidence: dict[str, object] = {"dropped": dropped, "packets_pass": is_open}
        if context.effective and dropped is None:
            return Proof(False, {**evidence, "ended_early": "packets passed before the fault's end"})
        return Proof(is_open, evidence)


def isolate_app(target: str, *, lasting: float = OPEN, at: float = 0, after: str | None = None) -> Event:
    """No packet passes between instances of an application and any broker, and neither side gets an error."""
    return Event.of(IsolateApp(), target, at=at, after=after, lasting=lasting)
