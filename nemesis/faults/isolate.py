"""Isolate: one or more nodes are cut off from all other nodes. Clients still reach all of them."""

from __future__ import annotations

from dataclasses import dataclass

from nemesis.event import OPEN, Event
from nemesis.fault import Draw
from nemesis.faults.isolate_app import isolate_app
from nemesis.faults.isolate_client import isolate_client
from nemesis.steps.cut_links import CutsLinks
from nemesis.targets import names_application, names_clients


@dataclass(frozen=True, kw_only=True)
class Isolate(CutsLinks):
    """All packets between the target and all other nodes are dropped."""

    name = "isolate"
    draw = Draw(weight=3)


def isolate(target: str | int, *, lasting: float = OPEN, at: float = 0, after: str | None = None) -> Event:
    """All packets between the target and the other nodes are dropped, IPv4 and IPv6; clients reach all nodes.

    Of client processes, all packets between them and the brokers.
    """
    if names_application(target):
        return isolate_app(str(target), at=at, after=after, lasting=lasting)
    if names_clients(target):
        return isolate_client(str(target), at=at, after=after, lasting=lasting)
    return Event.of(Isolate(), target, at=at, after=after, lasting=lasting)
