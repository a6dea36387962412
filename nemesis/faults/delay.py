"""Delay: what a node sends arrives later."""

from __future__ import annotations

from dataclasses import dataclass

from nemesis.effects.shaping import Shape
from nemesis.event import OPEN, Event
from nemesis.steps.shaped_packets import MOST_MS, ShapesPackets
from nemesis.validation import number


@dataclass(frozen=True, kw_only=True)
class Delay(ShapesPackets):
    """ms: delay of every packet that the node sends. jitter_ms: by which that varies at random."""

    ms: float = 200
    jitter_ms: float = 0

    name = "delay"

    def __post_init__(self) -> None:
        number("delay ms", self.ms, above=0, most=MOST_MS)
        number("delay jitter_ms", self.jitter_ms, least=0, most=MOST_MS)

    @property
    def shape(self) -> Shape:
        return {"delay_ms": self.ms, "jitter_ms": self.jitter_ms}


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
