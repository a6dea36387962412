"""Kill client: a client process ends without warning, and another one takes its place at the end."""

from __future__ import annotations

from dataclasses import dataclass

from nemesis.event import OPEN, Event
from nemesis.fault import Draw, FaultContext, Proof
from nemesis.steps.processes import CLIENT_LIMIT, AffectsClient


@dataclass(frozen=True, kw_only=True)
class KillClient(AffectsClient):
    """SIGKILL to the process. The process that takes its place has the same role, and a new number."""

    name = "kill-client"
    proved_by = "the process is gone"
    end_proved_by = "the process that replaces it runs"
    blocks_process = True
    draw = Draw(clients_weight=2)

    def inject(self, context: FaultContext) -> None:
        context.clients.kill(context.node_id)
        context.notes["killed"] = True

    def verify_injected(self, context: FaultContext) -> Proof:
        is_gone = context.wait_until(lambda: context.node_id not in context.clients.roles(), CLIENT_LIMIT)
        return Proof(is_gone, {"process": context.node_id})

    def heal(self, context: FaultContext) -> None:
        if context.notes.get("killed"):
            context.notes["new"] = context.clients.replace(context.node_id)

    def verify_healed(self, context: FaultContext) -> Proof:
        new = context.notes.get("new")
        return Proof(new is None or new in context.clients.roles(), {"replaced_by": new})


def kill_client(target: str, *, lasting: float = OPEN, at: float = 0, after: str | None = None) -> Event:
    """SIGKILL to client processes; at the end other processes, with new numbers, take their place."""
    return Event.of(KillClient(), target, at=at, after=after, lasting=lasting)
