"""Reorder: some packets that a node sends overtake others."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

from nemesis.cluster import Node
from nemesis.effects.measured_packets import Order, exchange, shows_reordering
from nemesis.effects.shaping import Shape
from nemesis.event import OPEN, Event
from nemesis.fault import FaultContext
from nemesis.steps.packets import MOST_MS, ShapesPackets
from nemesis.validation import number

EXPECTED = 20
"""Datagrams that must be expected to overtake others, so that it is no chance that none does."""

MOST = 4_000
"""Datagrams of one measurement."""


@dataclass(frozen=True, kw_only=True)
class Reorder(ShapesPackets):
    """percent: of the packets that the node sends, which overtake the others. ms: delay of the others."""

    percent: float = 20
    ms: float = 20

    name = "reorder"
    proved_by = "numbered test datagrams overtake others on their way to a peer"
    end_proved_by = "no queueing discipline is left, no datagram overtakes another, and the node serves"

    def __post_init__(self) -> None:
        number("reorder percent", self.percent, above=0, most=100)
        number("reorder ms", self.ms, above=0, most=MOST_MS)

    @property
    def shape(self) -> Shape:
        return {"reorder": self.percent, "delay_ms": self.ms}

    def shows(self, context: FaultContext, peer: Node, shape: Shape) -> tuple[bool, Mapping[str, Any]]:
        share, seen = shape.get("reorder", 0.0) / 100, Order()
        while seen.sent * (share or self.percent / 100) < EXPECTED and seen.sent < MOST:
            seen += exchange(context.node, peer)
        has_shown = shows_reordering(seen, share) if share else seen.arrived > 0 == seen.overtook
        return has_shown, asdict(seen)


def reorder(
    target: str | int,
    *,
    lasting: float = OPEN,
    at: float = 0,
    after: str | None = None,
    percent: float = 20,
    ms: float = 20,
) -> Event:
    """That percentage of the packets that the node *sends* overtakes the others, which arrive ``ms`` later."""
    return Event.of(Reorder(percent=percent, ms=ms), target, at=at, after=after, lasting=lasting)
