"""Schedules: events as values that can be stored, replayed and shrunk, and events that cannot be in one together."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from nemesis.event import OPEN, Event
from nemesis.registry import FAULTS
from nemesis.targets import Groups, Target, parse
from nemesis.topology import Topology
from nemesis.triggers import Trigger
from nemesis.validation import near_or_all


@dataclass(frozen=True)
class Schedule:
    """Events with ids. Raises ValueError when an event has no id, two have the same, or one has no end."""

    events: tuple[Event, ...] = ()

    def __post_init__(self) -> None:
        ids = [event.id for event in self.events]
        if "" in ids or len(set(ids)) < len(ids):
            raise ValueError(f"Schedule.events: ids {ids!r}; expected one for each event, all different")
        for event in self.events:
            if event.lasting == OPEN:
                raise ValueError(f"event {event.id!r}: say for how many seconds, such as lasting=8")

    @classmethod
    def of(cls, events: Iterable[Event], *, taken: Iterable[str] = ()) -> Schedule:
        """Events without an id get one from their position, such as ``isolate-0``. Other ids stay.

        taken  ids of events of other schedules, which none of these may have.
        So an event keeps its id, and with it its random choices, when other events are removed.
        Raises TypeError for a value that is not an event, ValueError for two events with the same id.
        """
        others = set(taken)
        if isinstance(events, (str, bytes, Mapping)) or not isinstance(events, Iterable):
            raise TypeError(
                f"expected a list of events such as [isolate('leader', at=3, lasting=8)], got {events!r}"
            )
        given = tuple(events)
        for event in given:
            if not isinstance(event, Event):
                raise TypeError(f"expected events such as isolate('leader', at=3, lasting=8), got {event!r}")
            if event.id in others:
                raise ValueError(f"event {event.id!r}: an event of this id is at work already")
        used = others | {event.id for event in given}
        named = []
        for position, event in enumerate(given):
            number = position
            while not event.id:
                if (candidate := f"{event.fault.name}-{number}") not in used:
                    event = dataclasses.replace(event, id=candidate)
                    used.add(candidate)
                number += 1
            named.append(event)
        return cls(tuple(named))

    @property
    def length(self) -> float:
        """Seconds to the last heal, if no event waits for a trigger."""
        return max((event.end for event in self.events), default=0.0)

    def check(self, topology: Topology, *, beside: Iterable[Event] = ()) -> None:
        """Raises ValueError, naming the event, for a schedule that can never be carried out there.

        beside  events of other schedules that go on then, with times from the start of this one.
        """
        others = tuple(beside)
        for event in self.events:
            try:
                event.check(topology)
            except ValueError as error:
                raise ValueError(f"event {event.id!r}: {error}") from error
        for position, event in enumerate(self.events):
            for other in (*self.events[position + 1 :], *others):
                if reason := conflict(event, other, topology):
                    raise ValueError(f"events {event.id!r} and {other.id!r}: {reason}")

    def on(self, topology: Topology) -> Schedule:
        """With the options of faults that depend on the cluster. Called for a schedule that `check` accepts."""
        return Schedule(
            tuple(dataclasses.replace(event, fault=event.fault.on(topology)) for event in self.events)
        )

    def without(self, *ids: str) -> Schedule:
        """The same schedule without these events."""
        return Schedule(tuple(event for event in self.events if event.id not in ids))

    def to_json(self) -> list[dict[str, Any]]:
        return [event.to_json() for event in self.events]

    @classmethod
    def from_json(cls, data: Sequence[Mapping[str, Any]]) -> Schedule:
        """Raises ValueError naming the event that is wrong."""
        if not isinstance(data, Sequence) or isinstance(data, str):
            raise ValueError(f"schedule {data!r}: expected a list of events")
        return cls.of(event_from_json(each) for each in data)


def event_from_json(data: Mapping[str, Any]) -> Event:
    """The inverse of `Event.to_json`. Raises ValueError naming what is wrong."""
    if not isinstance(data, Mapping):
        raise ValueError(f"event {data!r}: expected an object")
    rest = dict(data)
    name, target, options = rest.pop("fault", None), rest.pop("target", None), rest.pop("options", {})
    if not isinstance(name, str) or name not in FAULTS:
        raise ValueError(f"event {data!r}: no fault {name!r}{near_or_all(name, FAULTS)}")
    if not isinstance(target, (str, int, list)):
        raise ValueError(f"event {data!r}: target {target!r}; expected text, a node id or groups of node ids")
    try:
        if rest.get("after") is not None:
            rest["after"] = Trigger.parse(rest["after"])
        return Event(fault=FAULTS[name](**options), target=parse(target), **rest)
    except (TypeError, ValueError) as error:
        raise ValueError(f"event {data!r}: {error}") from error


def conflict(event: Event, other: Event, topology: Topology) -> str | None:
    """Why the two events interfere. None where they do not, or where only their resolved targets can show it.

    Two faults that block a process interfere at the same node: a stopped process cannot be paused, and a process on a
    stalled disk cannot be killed. Exceptions are the same fault twice, and what a fault `allows`.
    Two faults that restore an earlier state interfere where the later one would restore what the earlier one had set.
    """
    main_topic = next(iter(topology.topics), "")
    if may_restore_the_same(event, other, main_topic) and event.overlaps(other):
        return (
            f"{event.fault.name} {event.target} and {other.fault.name} {other.target} may go on at the same time, "
            f"and each restores at its end what it found; let one begin after the other's end"
        )
    if not may_block_the_same(event, other) or event.after is not None or other.after is not None:
        return None
    first, second = sorted((event, other), key=lambda each: each.at)
    if first.fault.name == second.fault.name or second.fault.name in first.fault.allows:
        return None
    is_during = first.at <= second.at < first.end or first.at == second.at
    if not is_during or not _surely_the_same(first, second, topology):
        return None
    return (
        f"{second.fault.name} {second.target} at {second.at:g} s begins while {first.fault.name} {first.target} "
        f"blocks the same process ({first.at:g} to {first.end:g} s); let it begin at {first.end:g} s or later"
    )


def may_block_the_same(event: Event, other: Event) -> bool:
    """Whether both block processes, and both those of nodes or both those of clients."""
    both = event.fault.blocks_process and other.fault.blocks_process
    return both and event.fault.target_family == other.fault.target_family


def may_restore_the_same(event: Event, other: Event, main_topic: str) -> bool:
    """Whether both may restore the same object: the replicas of a partition, or a setting of a topic or a broker.

    main_topic  of targets that name no topic.
    """
    both = event.fault.restores_state and other.fault.restores_state
    if not both or event.fault.target_family != other.fault.target_family:
        return False
    here, there = event.target, other.target
    if isinstance(here, Groups) or isinstance(there, Groups):
        return False
    if here.kind == there.kind == "node":
        may_meet = bool(set(here.nodes) & set(there.nodes))
    elif here.family == "nodes":
        may_meet = True  # a role may be any node
    else:
        may_meet = here.log(main_topic) == there.log(main_topic)
    settings, others = event.fault.options().get("settings"), other.fault.options().get("settings")
    return may_meet and (settings is None or others is None or bool(set(settings) & set(others)))


def _surely_the_same(event: Event, other: Event, topology: Topology) -> bool:
    """Whether both have a node, or a client process, in common whatever their targets resolve to."""
    here, there = event.target, other.target
    if isinstance(here, Groups) or isinstance(there, Groups):
        return False
    if event.fault.target_family == "clients":
        return _surely_same_client(here, there)
    sure_here, sure_there = _sure_nodes(here, topology), _sure_nodes(there, topology)
    if sure_here is not None and sure_there is not None:
        return bool(sure_here & sure_there)
    # All roles are of brokers, except the controller where controllers are separate nodes.
    has_separate_controllers = bool(topology.controllers) and not set(topology.controllers) & set(
        topology.brokers
    )
    return any(
        every.kind == "all" and not (role.kind == "controller" and has_separate_controllers)
        for every, role in ((here, there), (there, here))
    )


def _surely_same_client(here: Target, there: Target) -> bool:
    if "clients" in (here.kind, there.kind):
        return True
    if here.kind == there.kind and here.nodes and there.nodes:
        return here.nodes == there.nodes
    return (here.is_whole_role or there.is_whole_role) and here.role == there.role


def _sure_nodes(target: Target, topology: Topology) -> frozenset[int] | None:
    """The nodes that the target is in any case; None for a role, which may be one node or another."""
    match target.kind:
        case "node":
            return frozenset(target.nodes)
        case "all":
            return frozenset(topology.brokers)
        case "controllers":
            return frozenset(topology.controllers)
    return None
