"""Stop: a controlled shutdown, which hands leadership over; the process is started again when the fault ends."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from nemesis.faults.fault import Fault, Proof, Strike
from nemesis.faults.kill import KILLED, halt, halted, rouse, roused


@dataclass(frozen=True, kw_only=True)
class Stop(Fault):
    """Effective when the process ended by itself; one that had to be killed was not shut down."""

    name: ClassVar[str] = "stop"
    halts: ClassVar[bool] = True

    def inject(self, strike: Strike) -> None:
        halt(strike, gently=True)

    def verify_injected(self, strike: Strike) -> Proof:
        proof = halted(strike)
        killed = proof.evidence.get("exit_code") == KILLED
        return Proof(proof.effective and not killed, proof.evidence)

    def heal(self, strike: Strike) -> None:
        rouse(strike)

    def verify_healed(self, strike: Strike) -> Proof:
        return roused(strike)
