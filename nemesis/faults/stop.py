"""Stop: a controlled shutdown, which hands leadership over; the process is started again when the fault ends."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from nemesis.faults.fault import Fault, FaultContext, Proof
from nemesis.faults.kill import KILLED, halt, halted, rouse, roused


@dataclass(frozen=True, kw_only=True)
class Stop(Fault):
    """Effective when the process ended by itself; one that had to be killed was not shut down."""

    name: ClassVar[str] = "stop"
    halts: ClassVar[bool] = True

    def inject(self, context: FaultContext) -> None:
        halt(context, gently=True)

    def verify_injected(self, context: FaultContext) -> Proof:
        proof = halted(context)
        killed = proof.evidence.get("exit_code") == KILLED
        return Proof(proof.effective and not killed, proof.evidence)

    def heal(self, context: FaultContext) -> None:
        rouse(context)

    def verify_healed(self, context: FaultContext) -> Proof:
        return roused(context)
