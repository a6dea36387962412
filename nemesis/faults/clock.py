"""Clock: a node's time of day jumps, or goes too fast or too slow. Time-outs, which use another clock, do not."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from nemesis.cluster import Node
from nemesis.effects.reconciler import Resource
from nemesis.faults.fault import Fault, FaultContext, Proof
from nemesis.faults.serving import serving
from nemesis.validation import number

FURTHEST = 1e9
"""Seconds, about 31 years, by which a clock can be off."""

CLOSE = 1.0
"""Seconds that what is read back may be off: a drift goes on meanwhile."""


def _sum(wishes: Sequence[tuple[float, float]]) -> tuple[float, float]:
    return sum(offset for offset, _ in wishes), sum(ppm for _, ppm in wishes)


def _left(node: Node) -> str | None:
    try:
        offset, ppm = node.clock.get()
    except OSError:  # a process that has just begun has the right time
        return None
    return f"its clock is still {offset:g} s off, {ppm:g} ppm" if offset or ppm else None


CLOCK = Resource(
    "clock", _sum, lambda node, wish: node.clock.clear() if wish is None else node.clock.set(*wish), _left
)


@dataclass(frozen=True, kw_only=True)
class Clock(Fault):
    """offset: seconds it jumps, either way. ppm: millionths by which it goes too fast from then on, or too slow."""

    offset: float = 0.0
    ppm: float = 0.0

    name: ClassVar[str] = "clock"
    down: ClassVar[bool] = False
    # A wait that began while the clock was ahead, such as that before the next try to reach a peer, ends only then.
    lingers: ClassVar[bool] = True
    needs: ClassVar[frozenset[str]] = frozenset({"clock"})

    def __post_init__(self) -> None:
        number("clock offset", self.offset, least=-FURTHEST, most=FURTHEST)
        number("clock ppm", self.ppm, above=-1_000_000, most=1_000_000)
        if not self.offset and not self.ppm:
            raise ValueError("clock: give it an offset (seconds) or ppm (millionths), or both")

    def inject(self, context: FaultContext) -> None:
        context.notes["incarnation"] = context.process.incarnation()
        context.desired.want(context.event, context.node, CLOCK, (self.offset, self.ppm))

    def verify_injected(self, context: FaultContext) -> Proof:
        offset, ppm = context.process.clock.get()
        wanted = context.desired.now(CLOCK, context.node)
        close = abs(offset - wanted[0]) < CLOSE and abs(ppm - wanted[1]) < CLOSE
        return Proof(close, {"offset": offset, "ppm": ppm})

    def heal(self, context: FaultContext) -> None:
        process = context.process
        try:
            if process.state() == "stopped" or process.incarnation() != context.notes.get("incarnation"):
                context.notes["restarted"] = (
                    True  # a new process has the right time, and a dead one needs none
                )
            elif context.effective:
                context.notes["end"] = list(process.clock.get())
        finally:
            context.desired.release(context.event, context.node, CLOCK)

    def verify_healed(self, context: FaultContext) -> Proof:
        if context.notes.get("restarted"):
            return Proof(True, {"ended_early": "the process was restarted, which gives it the right time"})
        wanted = context.desired.now(CLOCK, context.node) or (0.0, 0.0)
        offset, ppm = context.process.clock.get()
        evidence = {"before_heal": context.notes.get("end"), "offset": offset, "ppm": ppm}
        if abs(offset - wanted[0]) >= CLOSE or abs(ppm - wanted[1]) >= CLOSE:
            return Proof(False, evidence)
        served = serving(context)
        return Proof(served.effective, {**evidence, **served.evidence})
