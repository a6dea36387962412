"""One fault in a schedule: what happens, to which target, when, and for how long."""

from __future__ import annotations

import dataclasses
import math
import random
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from nemesis.fault import Fault
from nemesis.targets import TARGET_FAMILIES, Groups, Target, check, parse
from nemesis.topology import Topology
from nemesis.triggers import Trigger
from nemesis.validation import seconds

OPEN = math.inf
"""The duration of a fault that ends with the block of a test's code. A schedule has no such event."""

Split = str | int | Sequence[Sequence[int]]
"""A target, or groups of node ids such as ``[[1], [2, 3]]``."""


@dataclass(frozen=True, kw_only=True)
class Event:
    """One fault.

    id       unique in its schedule; empty until a schedule gives it one.
    at       seconds after the start of the schedule, or after its trigger.
    after    the trigger that it waits for; None for none.
    lasting  seconds from its injection to its heal; 0 for a momentary fault, `OPEN` where others say when it ends.
    Raises ValueError naming the field, the value and what is allowed.
    """

    at: float = 0.0
    fault: Fault
    target: Target | Groups
    lasting: float = 0.0
    after: Trigger | None = None
    id: str = ""

    @classmethod
    def of(cls, fault: Fault, target: Split, *, at: float, after: str | None, lasting: float = 0.0) -> Event:
        """The event that a public function of a fault returns. Raises ValueError for a target or trigger in wrong
        form.
        """
        return cls(
            fault=fault,
            target=parse(target) if fault.accepts_groups else Target.parse(target),  # type: ignore[arg-type]
            at=at,
            lasting=lasting,
            after=None if after is None else Trigger.parse(after),
        )

    def __post_init__(self) -> None:
        if not isinstance(self.fault, Fault):
            raise ValueError(
                f"Event.fault={self.fault!r}: expected a fault from nemesis.faults, such as Kill()"
            )
        if not isinstance(self.target, (Target, Groups)):
            raise ValueError(
                f"Event.target={self.target!r}: expected a Target or Groups, see nemesis.targets.parse"
            )
        if isinstance(self.target, Groups) and not self.fault.accepts_groups:
            raise ValueError(
                f"Event.target={self.target.to_json()}: {self.fault.name} takes one target, not groups"
            )
        if self.target.family != self.fault.target_family:
            raise ValueError(
                f"Event.target={str(self.target)!r}: the target of {self.fault.name} is "
                f"{TARGET_FAMILIES[self.fault.target_family]}"
            )
        seconds("Event.at", self.at)
        if not self.fault.momentary:
            if self.lasting != OPEN:
                seconds("Event.lasting", self.lasting, above=0)
        elif self.lasting != 0:
            raise ValueError(
                f"Event.lasting={self.lasting!r}: {self.fault.name} is momentary; leave out its duration"
            )
        if self.after is not None and not isinstance(self.after, Trigger):
            raise ValueError(f"Event.after={self.after!r}: expected a Trigger, see nemesis.triggers")
        if not isinstance(self.id, str):
            raise ValueError(f"Event.id={self.id!r}: expected text")

    @property
    def end(self) -> float:
        """When it is healed: seconds after the start of the schedule, or after its trigger."""
        return self.at + self.lasting

    @property
    def earliest(self) -> float:
        """Seconds after the start of the schedule before which it does not begin."""
        return self.at if self.after is None else self.after.begin + self.at

    @property
    def latest(self) -> float:
        """Seconds after the start of the schedule after which it does not begin."""
        return (
            self.at
            if self.after is None
            else self.earliest + sum(each.limit for each in self.after.in_turn())
        )

    def named(self, id: str) -> Event:
        """The same event with another id. Its random choices depend on the id."""
        return dataclasses.replace(self, id=id)

    def overlaps(self, other: Event) -> bool:
        """Whether both may go on at the same time. An event with a trigger may begin until the trigger's limit."""
        # A momentary event overlaps what begins at the same time, but not what ends then.
        if self.earliest <= other.latest and other.earliest <= self.latest:
            return True
        return self.earliest < other.latest + other.lasting and other.earliest < self.latest + self.lasting

    def check(self, topology: Topology) -> None:
        """Raises ValueError, naming what is wrong and what is allowed, for an event that can never be carried out
        there.
        """
        check(self.target, topology)
        try:
            if "disks" in self.fault.needs:
                _check_disks(topology, self.target)
            self.fault.check(topology, self.target)
        except ValueError as error:
            raise ValueError(f"{self.fault.name} {self.target}: {error}") from error
        if self.after is not None:
            self.after.check(topology)

    def random(self, seed: int, choice: str) -> random.Random:
        """The source of one of this event's choices. It does not depend on other events, nor on its other choices."""
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


def _check_disks(topology: Topology, target: Target | Groups) -> None:
    """Raises ValueError where nodes have no file systems of their own. ZooKeeper nodes never have one."""
    if not topology.disks:
        raise ValueError("the nodes have no disks of their own; start them with ClusterSpec(disk_mb=256)")
    ids = set(target.nodes) if isinstance(target, Groups) or target.kind == "node" else set()
    if without := ids & set(topology.zookeepers):
        raise ValueError(
            f"ZooKeeper nodes {', '.join(map(str, sorted(without)))} have no disks of their own; brokers have: "
            f"{', '.join(map(str, topology.brokers))}"
        )
