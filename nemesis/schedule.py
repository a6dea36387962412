"""When which fault strikes whom: values that can be stored, replayed and shrunk."""

from __future__ import annotations

import dataclasses
import math
import random
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from nemesis.faults import FAULTS
from nemesis.faults.fault import Fault
from nemesis.targets import Groups, Target, check, parse


@dataclass(frozen=True, kw_only=True)
class Event:
    """One fault.

    id       unique in its schedule; empty until a schedule gives it one.
    at       seconds after the schedule's beginning.
    lasting  seconds from its injection to its heal.
    Raises ValueError naming the field, the value and what is allowed.
    """

    at: float
    fault: Fault
    target: Target | Groups
    lasting: float
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
        if not _seconds(self.at) or self.at < 0:
            raise ValueError(f"Event.at={self.at!r}: expected seconds, 0 or more")
        if not _seconds(self.lasting) or self.lasting <= 0:
            raise ValueError(f"Event.lasting={self.lasting!r}: expected seconds, more than 0")
        if not isinstance(self.id, str):
            raise ValueError(f"Event.id={self.id!r}: expected text")

    def check(self, *, nodes: Collection[int], topics: Mapping[str, int]) -> None:
        """Refuse what can never be carried out there; arguments and error as of `nemesis.targets.check`."""
        check(self.target, nodes=nodes, topics=topics)
        if self.fault.name in ("isolate", "partition") and len(nodes) < 2:
            raise ValueError(
                f"{self.fault.name} {self.target}: a cluster of one node has no peers to be cut from"
            )

    def random(self, seed: int) -> random.Random:
        """The source of this event's choices. It depends on no other event."""
        return random.Random(f"{seed}:{self.id}")

    def to_json(self) -> dict[str, Any]:
        data = {
            "id": self.id,
            "at": self.at,
            "lasting": self.lasting,
            "fault": self.fault.name,
            "target": self.target.to_json(),
        }
        options = self.fault.options()
        return {**data, "options": options} if options else data

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Event:
        """Raises ValueError naming what is wrong."""
        if not isinstance(data, Mapping):
            raise ValueError(f"event {data!r}: expected an object")
        rest = dict(data)
        name, target, options = rest.pop("fault", None), rest.pop("target", None), rest.pop("options", {})
        if name not in FAULTS:
            raise ValueError(f"event {data!r}: fault {name!r}; allowed are {', '.join(FAULTS)}")
        if not isinstance(target, (str, int, list)):
            raise ValueError(
                f"event {data!r}: target {target!r}; expected text, a node id or groups of node ids"
            )
        try:
            return cls(fault=FAULTS[name](**options), target=parse(target), **rest)
        except TypeError as error:
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

    def to_json(self) -> list[dict[str, Any]]:
        return [event.to_json() for event in self.events]

    @classmethod
    def from_json(cls, data: Sequence[Mapping[str, Any]]) -> Schedule:
        """Raises ValueError naming the event that is wrong."""
        if not isinstance(data, Sequence) or isinstance(data, str):
            raise ValueError(f"schedule {data!r}: expected a list of events")
        return cls.of(Event.from_json(each) for each in data)


def _seconds(value: object) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool) and math.isfinite(value)
