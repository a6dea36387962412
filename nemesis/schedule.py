"""When which fault strikes whom: values that can be stored, replayed and shrunk."""

from __future__ import annotations

import dataclasses
import random
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from nemesis.faults import FAULTS
from nemesis.faults.fault import Fault
from nemesis.targets import ROLES, Groups, Target, check, parse
from nemesis.topology import Topology
from nemesis.triggers import Trigger
from nemesis.validation import seconds

TRIGGER_LIMIT = 60.0
"""Seconds, from the schedule's beginning, for which an event waits for its trigger."""


@dataclass(frozen=True, kw_only=True)
class Event:
    """One fault.

    id       unique in its schedule; empty until a schedule gives it one.
    at       seconds after the schedule's beginning, or after its trigger.
    after    what it waits for; None for nothing.
    lasting  seconds from its injection to its heal; 0 for what is over when it has happened.
    Raises ValueError naming the field, the value and what is allowed.
    """

    at: float = 0.0
    fault: Fault
    target: Target | Groups
    lasting: float = 0.0
    after: Trigger | None = None
    id: str = ""

    def __post_init__(self) -> None:
        if not isinstance(self.fault, tuple(FAULTS.values())):
            raise ValueError(f"Event.fault={self.fault!r}: expected one of {', '.join(FAULTS)}")
        if not isinstance(self.target, (Target, Groups)):
            raise ValueError(
                f"Event.target={self.target!r}: expected a Target or Groups, see nemesis.targets.parse"
            )
        if isinstance(self.target, Groups) and not self.fault.splits:
            raise ValueError(
                f"Event.target={self.target.to_json()}: {self.fault.name} strikes one target, not groups"
            )
        if not _fits(self.fault, self.target):
            raise ValueError(
                f"Event.target={str(self.target)!r}: {self.fault.name} strikes {_STRIKES[self.fault.strikes]}"
            )
        seconds("Event.at", self.at)
        if self.fault.momentary:
            if self.lasting != 0:
                raise ValueError(
                    f"Event.lasting={self.lasting!r}: {self.fault.name} is over when it has happened; leave it out"
                )
        else:
            seconds("Event.lasting", self.lasting, above=0)
        if self.after is not None and not isinstance(self.after, Trigger):
            raise ValueError(f"Event.after={self.after!r}: expected a Trigger, see nemesis.triggers")
        if not isinstance(self.id, str):
            raise ValueError(f"Event.id={self.id!r}: expected text")

    @property
    def end(self) -> float:
        """When it is healed, in seconds after the schedule's beginning; unknown to the left of its trigger."""
        return self.at + self.lasting

    def named(self, id: str) -> Event:
        """The same with another id. Its random choices hang on the id."""
        return dataclasses.replace(self, id=id)

    def overlaps(self, other: Event) -> bool:
        """Whether both may be at work at the same time. What waits for a trigger may come at any time."""
        if self.after is not None or other.after is not None:
            return True
        # What lasts no time meets what begins at the same time; what ends then is over.
        return self.at == other.at or (self.at < other.end and other.at < self.end)

    def check(self, topology: Topology) -> None:
        """Refuse what can never be carried out there. Raises ValueError naming what is wrong and what there is."""
        check(self.target, topology)
        try:
            if "disks" in self.fault.needs:
                _need_disks(topology, self.target)
            self.fault.check(topology, self.target)
        except ValueError as error:
            raise ValueError(f"{self.fault.name} {self.target}: {error}") from error
        if self.after is not None:
            self.after.check(topology)

    def random(self, seed: int, choice: str) -> random.Random:
        """The source of one of this event's choices. It depends on no other event, and on no other choice."""
        return random.Random(f"{seed}:{self.id}:{choice}")

    def to_json(self) -> dict[str, Any]:
        data: dict[str, Any] = {"id": self.id, "at": self.at}
        if self.after is not None:
            data["after"] = str(self.after)
        if not self.fault.momentary:
            data["lasting"] = self.lasting
        data |= {"fault": self.fault.name, "target": self.target.to_json()}
        options = self.fault.options()
        return {**data, "options": options} if options else data

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Event:
        """Raises ValueError naming what is wrong."""
        if not isinstance(data, Mapping):
            raise ValueError(f"event {data!r}: expected an object")
        rest = dict(data)
        name, target, options = rest.pop("fault", None), rest.pop("target", None), rest.pop("options", {})
        if not isinstance(name, str) or name not in FAULTS:
            raise ValueError(f"event {data!r}: fault {name!r}; allowed are {', '.join(FAULTS)}")
        if not isinstance(target, (str, int, list)):
            raise ValueError(
                f"event {data!r}: target {target!r}; expected text, a node id or groups of node ids"
            )
        try:
            if rest.get("after") is not None:
                rest["after"] = Trigger.parse(rest["after"])
            return cls(fault=FAULTS[name](**options), target=parse(target), **rest)
        except (TypeError, ValueError) as error:
            raise ValueError(f"event {data!r}: {error}") from error


@dataclass(frozen=True)
class Schedule:
    """Events with ids. Raises ValueError when one has none, or two have the same."""

    events: tuple[Event, ...] = ()

    def __post_init__(self) -> None:
        ids = [event.id for event in self.events]
        if "" in ids or len(set(ids)) < len(ids):
            raise ValueError(f"Schedule.events: ids {ids!r}; expected one for each event, all different")

    @classmethod
    def of(cls, events: Iterable[Event]) -> Schedule:
        """Give events without id one by their position, as ``isolate-0``; ids that are there stay.

        So an event keeps its id, and with it its random choices, when others are taken away.
        Raises TypeError for what is not an event, ValueError for two events of the same id.
        """
        given = tuple(events)
        for event in given:
            if not isinstance(event, Event):
                raise TypeError(f"expected events such as isolate('leader', at=3, lasting=8), got {event!r}")
        taken = {event.id for event in given}
        named = []
        for position, event in enumerate(given):
            number = position
            while not event.id:
                if (candidate := f"{event.fault.name}-{number}") not in taken:
                    event = dataclasses.replace(event, id=candidate)
                    taken.add(candidate)
                number += 1
            named.append(event)
        return cls(tuple(named))

    @property
    def length(self) -> float:
        """Seconds to the last heal, where no event waits for its trigger."""
        return max((event.end for event in self.events), default=0.0)

    def check(self, topology: Topology) -> None:
        """Refuse what can never be carried out there. Raises ValueError naming the event."""
        for event in self.events:
            try:
                event.check(topology)
            except ValueError as error:
                raise ValueError(f"event {event.id!r}: {error}") from error
        for position, event in enumerate(self.events):
            for other in self.events[position + 1 :]:
                if why := conflict(event, other, topology):
                    raise ValueError(f"events {event.id!r} and {other.id!r}: {why}")

    def without(self, *ids: str) -> Schedule:
        """The same schedule less those events."""
        return Schedule(tuple(event for event in self.events if event.id not in ids))

    def to_json(self) -> list[dict[str, Any]]:
        return [event.to_json() for event in self.events]

    @classmethod
    def from_json(cls, data: Sequence[Mapping[str, Any]]) -> Schedule:
        """Raises ValueError naming the event that is wrong."""
        if not isinstance(data, Sequence) or isinstance(data, str):
            raise ValueError(f"schedule {data!r}: expected a list of events")
        return cls.of(Event.from_json(each) for each in data)


def conflict(event: Event, other: Event, topology: Topology) -> str | None:
    """Why two events cannot both do what they are to do; None where they can, or where that shows only later.

    Two that halt a process get in each other's way at the same node: a stopped one cannot be paused, one on a stalled
    disk not be killed. The same fault twice is fine, and so is a pause that a kill ends after it began. Two that put
    back what they found get in each other's way where the second one would put back what the
    first one had made of it.
    """
    if _put_back_the_same(event, other, topology) and event.overlaps(other):
        return (
            f"{event.fault.name} {event.target} and {other.fault.name} {other.target} may be at work together, "
            f"and each puts back at its end what it found; let one begin after the other's end"
        )
    if not (event.fault.halts and other.fault.halts) or event.fault.strikes != other.fault.strikes:
        return None
    if event.after is not None or other.after is not None or event.fault.name == other.fault.name:
        return None
    first, second = sorted((event, other), key=lambda each: each.at)
    if not (first.at <= second.at < first.end or first.at == second.at):
        return None
    if not _same(first, second, topology):
        return None
    if (first.fault.name, second.fault.name) in (("pause", "kill"), ("crash-loop", "kill")):
        return None
    return (
        f"{second.fault.name} {second.target} at {second.at:g} s comes while {first.fault.name} {first.target} holds "
        f"the same process ({first.at:g} to {first.end:g} s); let it begin at {first.end:g} s or later"
    )


def _put_back_the_same(event: Event, other: Event, topology: Topology) -> bool:
    """Whether both may put back the same thing: replicas of a partition, or a setting of a topic or a broker."""
    if not (event.fault.puts_back and other.fault.puts_back) or event.fault.strikes != other.fault.strikes:
        return False
    here, there = event.target, other.target
    if isinstance(here, Groups) or isinstance(there, Groups):
        return False
    if here.kind == there.kind == "node":
        where = bool(set(here.nodes) & set(there.nodes))
    elif here.family == "nodes":
        where = True  # roles may be any node
    else:
        own = next(iter(topology.topics), "")
        where = here.log(own) == there.log(own)
    settings, others = event.fault.options().get("settings"), other.fault.options().get("settings")
    return where and (settings is None or others is None or bool(set(settings) & set(others)))


def _same(event: Event, other: Event, topology: Topology) -> bool:
    """Whether both surely strike a node in common, or a client process: by id, or by all of them."""
    here, there = event.target, other.target
    if isinstance(here, Groups) or isinstance(there, Groups):
        return False
    if event.fault.strikes == "clients":
        return _same_client(here, there)
    surely = _surely(here, topology), _surely(there, topology)
    if surely[0] is not None and surely[1] is not None:
        return bool(surely[0] & surely[1])
    # All other roles are of brokers, but for the controller where controllers are nodes of their own.
    apart = bool(topology.controllers) and not set(topology.controllers) & set(topology.brokers)
    return any(
        whole.kind == "all" and not (role.kind == "controller" and apart)
        for whole, role in ((here, there), (there, here))
    )


def _same_client(here: Target, there: Target) -> bool:
    if "clients" in (here.kind, there.kind):
        return True
    if here.kind == there.kind == "client":
        return here.nodes == there.nodes
    plural = here.kind in ROLES or there.kind in ROLES
    return plural and ROLES.get(here.kind, here.kind) == ROLES.get(there.kind, there.kind)


def _surely(target: Target, topology: Topology) -> frozenset[int] | None:
    """The nodes it surely is; None for a role that may be one or another."""
    match target.kind:
        case "node":
            return frozenset(target.nodes)
        case "all":
            return frozenset(topology.brokers)
        case "controllers":
            return frozenset(topology.controllers)
    return None


_STRIKES = {
    "nodes": "nodes, such as 'leader'",
    "partition": "a partition, such as 'partition:0'",
    "topic": "a topic: 'topic', or 'topic:<name>'",
    "cluster": "the whole cluster: 'cluster'",
    "group": "a group, such as 'group:readers'",
    "producer": "a transactional id, such as 'transaction:transfer-1'",
    "clients": "client processes, such as 'producers'",
}


def _need_disks(topology: Topology, target: Target | Groups) -> None:
    """Raises ValueError where nodes have no file systems of their own; ZooKeeper's never have."""
    if not topology.disks:
        raise ValueError("the nodes have no disks of their own; start them with ClusterSpec(disk_mb=256)")
    named = set(target.nodes) if isinstance(target, Groups) or target.kind == "node" else set()
    if without := named & set(topology.zookeepers):
        raise ValueError(
            f"ZooKeeper nodes {', '.join(map(str, sorted(without)))} have no disks of their own; brokers have: "
            f"{', '.join(map(str, topology.brokers))}"
        )


def _fits(fault: Fault, target: Target | Groups) -> bool:
    return target.family == fault.strikes
