"""Budgets: how many nodes a schedule may take down at once. Checked before anything starts."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from typing import Any, Literal

from nemesis.event import Event
from nemesis.schedule import Schedule
from nemesis.targets import Groups, Target
from nemesis.topology import Topology

RESTARTING = 10.0
"""Seconds for which a node counts as down after the beginning of a momentary fault."""


@dataclass(frozen=True, kw_only=True)
class Budget:
    """Limits at every moment; None for no limit.

    brokers      brokers that may be down (killed, paused, cut off, on a failed disk): a number, or "minority".
    controllers  controllers that may be down, likewise.
    events       faults that may be at work, including those that take no node down.
    The count is an upper limit, so that the budget holds whatever the targets resolve to. A node id counts once,
    however many faults it has. A role counts with the largest number of nodes that it can be, and two roles count as
    two nodes although they may be the same one. An event with a trigger counts at all times. A fault that takes its
    nodes down one at a time counts as one node.
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
        """Raises ValueError naming the first event that exceeds the budget, and the events at work then."""
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
        """How these events together exceed the budget; None where they do not."""
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
    """The largest number of brokers that the event can take down."""
    if not event.fault.takes_nodes_down or event.target.family != "nodes":
        return 0
    if isinstance(event.target, Groups) or event.target.kind == "node":
        return _at_once(event, len(_cut_off(event.target) & set(topology.brokers)))
    if event.target.kind in ("controller", "controllers") and not set(topology.brokers) & set(
        topology.controllers
    ):
        # Separate controllers are no brokers. In ZooKeeper mode one of the brokers is the controller.
        return 0 if topology.controllers else 1
    return _at_once(event, event.target.most(topology))


def controllers_down(event: Event, topology: Topology) -> int:
    """The largest number of KRaft voters, or of ZooKeeper nodes, that the event can take down."""
    voters = set(topology.controllers or topology.zookeepers)
    if not event.fault.takes_nodes_down or event.target.family != "nodes":
        return 0
    if isinstance(event.target, Groups) or event.target.kind == "node":
        return _at_once(event, len(_cut_off(event.target) & voters))
    if event.target.kind in ("controller", "controllers"):
        return _at_once(event, event.target.most(topology)) if topology.controllers else 0
    # All other roles are of brokers.
    return _at_once(event, min(event.target.most(topology), len(voters & set(topology.brokers))))


def _at_once(event: Event, nodes: int) -> int:
    return min(nodes, 1) if event.fault.one_at_a_time else event.fault.most_down(nodes)


def _down(active: list[Event], of_kind: set[int], most: Callable[[Event], int]) -> int:
    """The largest number of nodes of a kind that these events take down together. Node ids count once each."""
    named: set[int] = set()
    others = 0
    for event in active:
        by_id = isinstance(event.target, Groups) or event.target.kind == "node"
        if by_id and event.fault.takes_nodes_down and not event.fault.one_at_a_time:
            named |= _cut_off(event.target) & of_kind
        else:
            others += most(event)
    return len(named) + others


def _cut_off(target: Target | Groups) -> set[int]:
    """The ids of the target; of groups, those that are not in the largest group."""
    if isinstance(target, Target):
        return set(target.nodes)
    largest = max(target.groups, key=lambda group: len(group))
    return set(target.nodes) - set(largest)


def _steps(event: Event, topology: Topology) -> int:
    by_id = isinstance(event.target, Groups) or event.target.kind == "node"
    return max(len(event.target.nodes) if by_id else event.target.most(topology), 1)


def _at_work(event: Event, moment: float, topology: Topology) -> bool:
    # A node is down for a while after a restart.
    end = event.end
    if event.fault.momentary and event.fault.takes_nodes_down:
        end += RESTARTING * (_steps(event, topology) if event.fault.one_at_a_time else 1)
    return event.at <= moment < max(end, event.at + 1e-9)


def _number(limit: int | str | None, of: int) -> int | None:
    if limit is None or isinstance(limit, int):
        return limit
    return (of - 1) // 2
