"""Duplicate: some packets that a node sends arrive twice."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from nemesis.cluster import Node
from nemesis.effects.measured_packets import agrees, needed, send
from nemesis.effects.shaping import Shape
from nemesis.event import OPEN, Event
from nemesis.fault import FaultContext
from nemesis.steps.packets import ShapesPackets
from nemesis.validation import number


@dataclass(frozen=True, kw_only=True)
class Duplicate(ShapesPackets):
    """percent: of the packets that the node sends."""

    percent: float = 20

    name = "duplicate"
    proved_by = "of test datagrams to a peer, that share arrives twice, by its kernel's count"
    end_proved_by = "no queueing discipline is left, no datagram arrives twice, and the node serves"

    def __post_init__(self) -> None:
        number("duplicate percent", self.percent, above=0, most=100)

    @property
    def shape(self) -> Shape:
        return {"duplicate": self.percent}

    def shows(self, context: FaultContext, peer: Node, shape: Shape) -> tuple[bool, Mapping[str, Any]]:
        share = shape.get("duplicate", 0.0) / 100
        number = needed(share or self.percent / 100)
        if number is None:
            return not share, {"unmeasured": f"{self.percent:g}% are too few to be distinguished from none"}
        passed = send(context.node, peer, number)
        copies = passed.arrived - passed.sent
        return agrees(passed.sent, copies, share), {"datagrams": passed.sent, "copies": copies}


def duplicate(
    target: str | int, *, lasting: float = OPEN, at: float = 0, after: str | None = None, percent: float = 20
) -> Event:
    """That percentage of the packets that the node *sends* arrives twice."""
    return Event.of(Duplicate(percent=percent), target, at=at, after=after, lasting=lasting)
