"""Crash loop: the process is killed again and again, each time shortly after it was started."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from nemesis.faults.fault import Fault, FaultContext, Proof
from nemesis.faults.kill import halt, halted, rouse, roused
from nemesis.validation import LONGEST, number


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

    def inject(self, context: FaultContext) -> None:
        halt(context)
        context.notes["kills"] = int(context.process.state() == "stopped")

    def verify_injected(self, context: FaultContext) -> Proof:
        return halted(context)

    def beat(self, context: FaultContext) -> None:
        if context.notes.pop("up", False):
            context.processes.want(context.event, context.node, "stopped")
            context.notes["kills"] = context.notes.get("kills", 0) + (context.process.state() == "stopped")
        else:
            context.processes.release(context.event, context.node)
            context.notes["up"] = True

    def heal(self, context: FaultContext) -> None:
        rouse(context)
        if context.notes.get("up"):
            context.notes["end"] = "stopped"  # it is we who had started it

    def verify_healed(self, context: FaultContext) -> Proof:
        proof = roused(context)
        return Proof(proof.effective, {**proof.evidence, "kills": context.notes.get("kills", 0)})
