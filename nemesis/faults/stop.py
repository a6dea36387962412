"""Stop: a controlled shutdown, in which the broker hands its leaderships over. It is started again at the end."""

from __future__ import annotations

from dataclasses import dataclass

from nemesis.event import OPEN, Event
from nemesis.fault import Draw, FaultContext, Proof
from nemesis.faults.stop_client import stop_client
from nemesis.steps.processes import KILLED, EndsProcess, end_process
from nemesis.targets import names_clients


@dataclass(frozen=True, kw_only=True)
class Stop(EndsProcess):
    """SIGTERM to the process. Effective when it ended by itself: a process that was killed was not shut down."""

    name = "stop"
    proved_by = f"the node served just before, and ended by itself (exit status not {KILLED})"
    draw = Draw(weight=1)

    def inject(self, context: FaultContext) -> None:
        end_process(context, gently=True)

    def verify_injected(self, context: FaultContext) -> Proof:
        proof = super().verify_injected(context)
        is_killed = proof.evidence.get("exit_code") == KILLED
        return Proof(proof.effective and not is_killed, proof.evidence)


def stop(target: str | int, *, lasting: float = OPEN, at: float = 0, after: str | None = None) -> Event:
    """Controlled shutdown (SIGTERM) of the broker, or of client processes such as ``app:1``; a start at the end."""
    if names_clients(target):
        return stop_client(str(target), at=at, after=after, lasting=lasting)
    return Event.of(Stop(), target, at=at, after=after, lasting=lasting)
