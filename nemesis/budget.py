"""How much may be broken at once: a property of a schedule, checked before anything starts."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from typing import Any, Literal

from nemesis.schedule import Event, Schedule
from nemesis.targets import Groups, Target
from nemesis.topology import Topology

RESTARTING = 10.0
"""Seconds for which a node counts as down from the beginning of a fault that is over when it has happened."""


@dataclass(frozen=True, kw_only=True)
class Budget:
    """Limits at every moment; None for no limit.

    brokers      how many brokers may be down (killed, paused, cut off, on a failed disk): a number, or "minority".
    controllers  how many of the controllers may be down, as well.
    events       how many faults may be at work, harmless ones too.
    Nodes named by id count once, however many faults they have. A target by role counts with all nodes it can be at
    most, and two roles as two nodes although they may be one: what is within the budget on paper is within it when
    the targets are known. An event with a trigger counts all the time, one that takes its nodes in turn as one node.
    """

    brokers: int | Literal["minority"] | None = None
    controllers: int | Literal["minority"] | None = None
    events: int | None = None

    def __post_init__(self) -> None:
        for name in ("brokers", "controllers", "events"):
            value = getattr(self, name)
            words = ("minority",) if name != "events" else ()
            if value is None or value in words:
                continue
            if not isinstance(value, int) or isinstance(value, bool) or value < 0:
                allowed = "a whole number, 0 or more" + (", or 'minority'" if words else "")
                raise ValueError(f"Budget.{name}={value!r}: expected {allowed}, or None")

    def check(self, schedule: Schedule, topology: Topology) -> None:
        """Raises ValueError naming the first event that is too much, and what is at work already."""
        for event in schedule.events:
            moment = 0.0 if event.after is not None else event.at
            active = [
                other
                for other in schedule.events
                if other.id != event.id and (other.after is not None or _at_work(other, moment, topology))
            ]
            if problem := self.excess([*active, event], topology):
                others = ", ".join(other.id for other in active) or "nothing else"
                raise ValueError(f"event {event.id!r} at {event.at:g} s: {problem} (at work then: {others})")

    def excess(self, active: list[Event], topology: Topology) -> str | None:
        """What is too much when these are at work together; None when it is within the budget."""
        if self.events is not None and len(active) > self.events:
            return f"{len(active)} faults at once; the budget allows {self.events}"
        down = _down(active, set(topology.brokers), lambda event: brokers_down(event, topology))
        if (allowed := _number(self.brokers, len(topology.brokers))) is not None and down > allowed:
            return f"up to {down} brokers down at once; the budget allows {allowed}"
        voters = set(topology.controllers or topology.zookeepers)
        down = _down(active, voters, lambda event: controllers_down(event, topology))
        if (allowed := _number(self.controllers, len(voters))) is not None and down > allowed:
            return f"up to {down} controllers down at once; the budget allows {allowed}"
        return None

    def to_json(self) -> dict[str, Any]:
        return asdict(self)

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Budget:
        """Raises TypeError for unknown names, ValueError for values that are not allowed."""
        return cls(**data)


def brokers_down(event: Event, topology: Topology) -> int:
    """How many brokers it can keep from their work at most."""
    if not event.fault.down or event.target.family != "nodes":
        return 0
    if isinstance(event.target, Groups) or event.target.kind == "node":
        return _at_once(event, len(_cut_off(event.target) & set(topology.brokers)))
    if event.target.kind in ("controller", "controllers") and not set(topology.brokers) & set(
        topology.controllers
    ):
        # Separate controllers are no brokers; in ZooKeeper mode one of the brokers is the controller.
        return 0 if topology.controllers else 1
    return _at_once(event, event.target.most(topology))


def controllers_down(event: Event, topology: Topology) -> int:
    """How many of the KRaft voters, or of the ZooKeeper nodes, it can keep from their work at most."""
    voters = set(topology.controllers or topology.zookeepers)
    if not event.fault.down or event.target.family != "nodes":
        return 0
    if isinstance(event.target, Groups) or event.target.kind == "node":
        return _at_once(event, len(_cut_off(event.target) & voters))
    if event.target.kind in ("controller", "controllers"):
        return _at_once(event, event.target.most(topology)) if topology.controllers else 0
    # All other roles are of brokers.
    return _at_once(event, min(event.target.most(topology), len(voters & set(topology.brokers))))


def _at_once(event: Event, nodes: int) -> int:
    return min(nodes, 1) if event.fault.in_turn else event.fault.cut_off(nodes)


def _down(active: list[Event], kind: set[int], most: Callable[[Event], int]) -> int:
    """How many nodes of a kind these can take together: those with ids once each, and the most of all others."""
    named: set[int] = set()
    others = 0
    for event in active:
        by_id = isinstance(event.target, Groups) or event.target.kind == "node"
        if by_id and event.fault.down and not event.fault.in_turn:
            named |= _cut_off(event.target) & kind
        else:
            others += most(event)
    return len(named) + others


def _cut_off(target: Target | Groups) -> set[int]:
    """The nodes named; of groups, those that are not in the largest one."""
    if isinstance(target, Target):
        return set(target.nodes)
    largest = max(target.groups, key=lambda group: len(group))
    return set(target.nodes) - set(largest)


def _steps(event: Event, topology: Topology) -> int:
    by_id = isinstance(event.target, Groups) or event.target.kind == "node"
    return max(len(event.target.nodes) if by_id else event.target.most(topology), 1)


def _at_work(event: Event, moment: float, topology: Topology) -> bool:
    # A node that is restarted is away for a while.
    end = event.end
    if event.fault.momentary and event.fault.down:
        end += RESTARTING * (_steps(event, topology) if event.fault.in_turn else 1)
    return event.at <= moment < max(end, event.at + 1e-9)


def _number(limit: int | str | None, of: int) -> int | None:
    if limit is None or isinstance(limit, int):
        return limit
    return (of - 1) // 2
