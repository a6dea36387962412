"""How tests inject a fault on the fake cluster, and how they make its injection or its heal ineffective."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

from nemesis.event import Event

Break = Callable[[Any], object]
"""Takes a `FakeRun`."""


@dataclass(frozen=True)
class Case:
    """One fault. Each file in ``tests/nemesis/faults`` has a dictionary CASES by name of the fault.

    make    returns an event; takes `at` and, unless the fault is momentary, `lasting`.
    breaks  makes the injection ineffective.
    heal    makes the heal ineffective; None where nothing can.
    valid   options that must survive a round trip through JSON.
    wrong   options that are refused, with a part of the message.
    lasts   whether the fault is at work at every moment until its heal, also when it is injected a second time.
    """

    make: Callable[..., Event]
    breaks: Break
    heal: Break | None = None
    valid: tuple[dict[str, Any], ...] = ()
    wrong: tuple[tuple[dict[str, Any], str], ...] = ()
    lasts: bool = True

    def event(self, at: float = 1.0, lasting: float = 10.0, **changes: Any) -> Event:
        try:
            event = self.make(at=at, lasting=lasting)
        except TypeError:
            event = self.make(at=at)
            assert event.fault.momentary
        return replace(event, **changes)


def on_node(*actions: str) -> Break:
    """Every node ignores these actions."""
    return lambda fake_run: [node.ignores.update(actions) for node in fake_run.cluster.nodes.values()]


def on_kafka(*actions: str) -> Break:
    return lambda fake_run: fake_run.cluster.kafka.ignores.update(actions)


def on_clients(*actions: str) -> Break:
    return lambda fake_run: fake_run.clients.ignores.update(actions)


def on_cuts(fake_run: Any) -> None:
    """Rules for cuts between nodes have no effect."""
    for node in fake_run.cluster.nodes.values():
        node.ignores_nft = True
