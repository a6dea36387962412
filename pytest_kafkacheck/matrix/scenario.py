"""A scenario: the faults that bring about an event of the audit on a real cluster."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cache
from importlib import import_module
from pkgutil import iter_modules

from nemesis.event import Event
from pytest_kafkacheck.audit.events import EVENTS

PACKAGE = "pytest_kafkacheck.matrix.scenarios"

LEADER = 1
"""The node that leads every partition at first: replicas are assigned to nodes 1, 2, 3 and so on."""


@dataclass(frozen=True)
class Layout:
    """replication: the most replicas of a topic of the run. brokers: of the cluster. in_rack: replicas, and brokers,
    that are lost together with the leader's rack."""

    replication: int
    brokers: int
    in_rack: int = 1

    @property
    def followers(self) -> range:
        return range(LEADER + 1, LEADER + self.replication)


@dataclass(frozen=True, kw_only=True)
class Scenario:
    """name         that of the event of the audit.
    faults       for a layout; times are seconds after the warm-up.
    window       position of the fault during which writes show whether the topic is available; None: all is down.
    refuses      position of the fault during which writes are refused, by rule of the audit, where it is another one.
    smallest_isr  replicas to which the ISR must shrink; a run that did not see that has not exercised the scenario.
    disks        whether nodes need file systems of their own.
    controllers  separate controllers; 0: each broker is one. The scenario stops too many nodes for a majority.
    alone        whether a run has one cell only.
    warm_up      seconds of load before the first fault; latencies are taken there.
    duration     seconds of load without faults.
    rate         records per second and cell; None for no limit.
    """

    name: str
    faults: Callable[[Layout], list[Event]] = field(default=lambda _: [])
    window: int | None = None
    refuses: Mapping[str, int] = field(default_factory=dict, hash=False)
    smallest_isr: int | None = None
    disks: bool = False
    controllers: int = 0
    alone: bool = False
    warm_up: float = 3.0
    duration: float = 8.0
    rate: float | None = 200

    @property
    def what(self) -> str:
        event = EVENTS.get(self.name)
        return (
            event.what if event else "Nothing fails: what the configuration costs in throughput and latency."
        )


@cache
def all_scenarios() -> dict[str, Scenario]:
    """By name, in the order of the audit's events; those without an event come last."""
    found = [
        import_module(f"{PACKAGE}.{module.name}").SCENARIO
        for module in iter_modules(import_module(PACKAGE).__path__)
    ]
    order = [*EVENTS]
    found.sort(key=lambda each: order.index(each.name) if each.name in order else len(order))
    return {each.name: each for each in found}
