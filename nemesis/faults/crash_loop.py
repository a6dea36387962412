"""Crash loop: the process is killed again and again, each time shortly after it was started."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from nemesis.faults.checked import LONGEST, number
from nemesis.faults.fault import Fault, Proof, Strike
from nemesis.faults.kill import halt, halted, rouse, roused


@dataclass(frozen=True, kw_only=True)
class CrashLoop(Fault):
    """every: seconds between a kill and the start after it, and between a start and the next kill."""

    every: float = 2.0

    name: ClassVar[str] = "crash-loop"
    halts: ClassVar[bool] = True

    def __post_init__(self) -> None:
        number("crash-loop every", self.every, above=0, most=LONGEST)

    @property
    def pulse(self) -> float:
        return self.every

    def inject(self, strike: Strike) -> None:
        halt(strike)
        strike.notes["kills"] = int(strike.process.state() == "stopped")

    def verify_injected(self, strike: Strike) -> Proof:
        return halted(strike)

    def beat(self, strike: Strike) -> None:
        if strike.notes.pop("up", False):
            strike.processes.want(strike.event, strike.node, "stopped")
            strike.notes["kills"] = strike.notes.get("kills", 0) + (strike.process.state() == "stopped")
        else:
            strike.processes.release(strike.event, strike.node)
            strike.notes["up"] = True

    def heal(self, strike: Strike) -> None:
        rouse(strike)
        if strike.notes.get("up"):
            strike.notes["end"] = "stopped"  # it is we who had started it

    def verify_healed(self, strike: Strike) -> Proof:
        proof = roused(strike)
        return Proof(proof.effective, {**proof.evidence, "kills": strike.notes.get("kills", 0)})
