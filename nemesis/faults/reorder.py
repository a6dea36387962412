"""Reorder: some packets that a node sends overtake others."""

from __future__ import annotations

from dataclasses import dataclass

from nemesis.effects.shaping import Shape
from nemesis.event import OPEN, Event
from nemesis.steps.shaped_packets import MOST_MS, ShapesPackets
from nemesis.validation import number


@dataclass(frozen=True, kw_only=True)
class Reorder(ShapesPackets):
    """percent: of the packets that the node sends, which overtake the others. ms: delay of the others."""

    percent: float = 20
    ms: float = 20

    name = "reorder"

    def __post_init__(self) -> None:
        number("reorder percent", self.percent, above=0, most=100)
        number("reorder ms", self.ms, above=0, most=MOST_MS)

    @property
    def shape(self) -> Shape:
        return {"reorder": self.percent, "delay_ms": self.ms}


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
