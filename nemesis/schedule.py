"""Schedules: events as values that can be stored, replayed and shrunk."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from nemesis.conflicts import conflict
from nemesis.event import OPEN, Event
from nemesis.registry import FAULTS
from nemesis.suggestion import did_you_mean
from nemesis.targets import parse
from nemesis.topology import Topology
from nemesis.triggers import Trigger


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
        raise ValueError(
            f"event {data!r}: fault {name!r}; allowed are {', '.join(FAULTS)}{did_you_mean(name, FAULTS)}"
        )
    if not isinstance(target, (str, int, list)):
        raise ValueError(f"event {data!r}: target {target!r}; expected text, a node id or groups of node ids")
    try:
        if rest.get("after") is not None:
            rest["after"] = Trigger.parse(rest["after"])
        return Event(fault=FAULTS[name](**options), target=parse(target), **rest)
    except (TypeError, ValueError) as error:
        raise ValueError(f"event {data!r}: {error}") from error
