"""Duplicate: some packets that a node sends arrive twice."""

from __future__ import annotations

from dataclasses import dataclass

from nemesis.effects.shaping import Shape
from nemesis.event import OPEN, Event
from nemesis.steps.shaped_packets import ShapesPackets
from nemesis.validation import number


@dataclass(frozen=True, kw_only=True)
class Duplicate(ShapesPackets):
    """percent: of the packets that the node sends."""

    percent: float = 20

    name = "duplicate"

    def __post_init__(self) -> None:
        number("duplicate percent", self.percent, above=0, most=100)

    @property
    def shape(self) -> Shape:
        return {"duplicate": self.percent}


def duplicate(
    target: str | int, *, lasting: float = OPEN, at: float = 0, after: str | None = None, percent: float = 20
) -> Event:
    """That percentage of the packets that the node *sends* arrives twice."""
    return Event.of(Duplicate(percent=percent), target, at=at, after=after, lasting=lasting)
