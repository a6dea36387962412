"""Delay: what a node sends arrives later."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from nemesis.cluster import Node
from nemesis.effects.measured_packets import measure, shows_delay
from nemesis.effects.shaping import SHAPE, Shape
from nemesis.event import OPEN, Event
from nemesis.fault import FaultContext, Proof
from nemesis.steps.packets import MOST_MS, ShapesPackets, peer_of
from nemesis.validation import number


@dataclass(frozen=True, kw_only=True)
class Delay(ShapesPackets):
    """ms: delay of every packet that the node sends. jitter_ms: by which that varies at random."""

    ms: float = 200
    jitter_ms: float = 0

    name = "delay"
    proved_by = "measured connections from the node to a peer take as long; before the fault less"
    end_proved_by = "no queueing discipline is left, connections take less, and the node serves"

    def __post_init__(self) -> None:
        number("delay ms", self.ms, above=0, most=MOST_MS)
        number("delay jitter_ms", self.jitter_ms, least=0, most=MOST_MS)

    @property
    def shape(self) -> Shape:
        return {"delay_ms": self.ms, "jitter_ms": self.jitter_ms}

    def inject(self, context: FaultContext) -> None:
        peer = peer_of(context)
        if peer is not None and context.resources.wanted(SHAPE, context.node_id) is None:
            context.notes["before"] = measure(context.node, peer)
        super().inject(context)

    def verify_injected(self, context: FaultContext) -> Proof:
        before: list[float] = context.notes.get("before", [])
        if shows_delay(before, self.ms, self.jitter_ms):
            return Proof(False, {"nothing": "connections took as long before the fault", "before_ms": before})
        proof = super().verify_injected(context)
        return Proof(proof.effective, {**proof.evidence, "before_ms": before})

    def shows(self, context: FaultContext, peer: Node, shape: Shape) -> tuple[bool, Mapping[str, Any]]:
        took = measure(context.node, peer)
        if "delay_ms" not in shape:
            return bool(took) and not shows_delay(took, self.ms, self.jitter_ms), {"took_ms": took}
        # Packets that overtake others are not delayed.
        jitter = shape["delay_ms"] if "reorder" in shape else shape.get("jitter_ms", 0.0)
        return shows_delay(took, shape["delay_ms"], jitter), {"took_ms": took}


def delay(
    target: str | int,
    *,
    lasting: float = OPEN,
    at: float = 0,
    after: str | None = None,
    ms: float = 200,
    jitter_ms: float = 0,
) -> Event:
    """What the node *sends* arrives ``ms`` later, more or less by ``jitter_ms``."""
    return Event.of(Delay(ms=ms, jitter_ms=jitter_ms), target, at=at, after=after, lasting=lasting)
