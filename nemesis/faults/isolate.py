"""Isolate: one or more nodes are cut off from all other nodes. Clients still reach all of them."""

from __future__ import annotations

from dataclasses import dataclass

from nemesis.event import OPEN, Event
from nemesis.fault import Draw
from nemesis.steps.cut_links import CutsLinks


@dataclass(frozen=True, kw_only=True)
class Isolate(CutsLinks):
    """All packets between the target and all other nodes are dropped."""

    name = "isolate"
    draw = Draw(weight=3)


def isolate(target: str | int, *, lasting: float = OPEN, at: float = 0, after: str | None = None) -> Event:
    """All packets between the target and the other nodes are dropped, IPv4 and IPv6; clients reach all nodes."""
    return Event.of(Isolate(), target, at=at, after=after, lasting=lasting)
