"""Pause client: a client process stands still, and later continues."""

from __future__ import annotations

from dataclasses import dataclass

from nemesis.event import OPEN, Event
from nemesis.fault import Draw, FaultContext, Proof
from nemesis.steps.processes import CLIENT_LIMIT, AffectsClient


@dataclass(frozen=True, kw_only=True)
class PauseClient(AffectsClient):
    """SIGSTOP and, at the end, SIGCONT."""

    name = "pause-client"
    proved_by = "the state of the process"
    end_proved_by = "the process runs, and stood still until the heal"
    blocks_process = True
    draw = Draw(clients_weight=2)

    def inject(self, context: FaultContext) -> None:
        context.clients.pause(context.node_id)

    def verify_injected(self, context: FaultContext) -> Proof:
        is_paused = context.wait_until(lambda: context.clients.paused(context.node_id), CLIENT_LIMIT)
        return Proof(is_paused, {"paused": is_paused})

    def heal(self, context: FaultContext) -> None:
        try:
            context.notes["end"] = context.clients.paused(context.node_id)
        finally:
            context.clients.resume(context.node_id)

    def verify_healed(self, context: FaultContext) -> Proof:
        continues = context.wait_until(lambda: not context.clients.paused(context.node_id), CLIENT_LIMIT)
        is_running = continues and context.node_id in context.clients.roles()
        evidence: dict[str, object] = {"paused_until_heal": context.notes.get("end"), "runs": is_running}
        if context.effective and not context.notes.get("end"):
            early = "the process continued, or was gone, before the fault's end"
            return Proof(False, {**evidence, "ended_early": early})
        return Proof(is_running, evidence)


def pause_client(target: str, *, lasting: float = OPEN, at: float = 0, after: str | None = None) -> Event:
    """SIGSTOP to client processes; SIGCONT at the end."""
    return Event.of(PauseClient(), target, at=at, after=after, lasting=lasting)
