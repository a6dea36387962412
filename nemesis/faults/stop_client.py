"""Stop client: a client process is asked to end, and another one takes its place at the end."""

from __future__ import annotations

from dataclasses import dataclass

from nemesis.event import OPEN, Event
from nemesis.fault import FaultContext, Proof
from nemesis.steps.processes import CLIENT_LIMIT, AffectsClient


@dataclass(frozen=True, kw_only=True)
class StopClient(AffectsClient):
    """It ends what it has begun, and leaves its group. An application gets SIGTERM. The process that takes its place
    has the same role, and a new number."""

    name = "stop-client"
    proved_by = "the process is gone"
    end_proved_by = "the process that replaces it runs"
    blocks_process = True

    def inject(self, context: FaultContext) -> None:
        context.clients.stop(context.node_id)
        context.notes["stopped"] = True

    def verify_injected(self, context: FaultContext) -> Proof:
        return Proof(self._is_gone(context), {"process": context.node_id})

    def heal(self, context: FaultContext) -> None:
        # A process that still works would otherwise run beside the one that replaces it.
        if context.notes.pop("stopped", False) and self._is_gone(context):
            context.notes["new"] = context.clients.replace(context.node_id)

    def verify_healed(self, context: FaultContext) -> Proof:
        new, is_gone = context.notes.get("new"), self._is_gone(context)
        return Proof(is_gone and (new is None or new in context.clients.roles()), {"replaced_by": new})

    def _is_gone(self, context: FaultContext) -> bool:
        return context.wait_until(lambda: context.node_id not in context.clients.roles(), CLIENT_LIMIT)


def stop_client(target: str, *, lasting: float = OPEN, at: float = 0, after: str | None = None) -> Event:
    """Client processes end what they have begun, and end; others, with new numbers, take their place at the end."""
    return Event.of(StopClient(), target, at=at, after=after, lasting=lasting)
