"""What brokers report of one instance of an application, with regard to one moment: implements `InstanceView`.

Positions of the group and records of source and sink are read from where they were as the view began, or as the
instance was started again: what an earlier process of it left behind is no moment of this one. A partition counts
while its owner is the instance.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Hashable, Mapping

from nemesis.views import Moment, NeverComes, Sight
from pytest_kafkacheck.experiment.applications.connections import Connections
from pytest_kafkacheck.experiment.applications.outputs import Outputs, Place
from pytest_kafkacheck.experiment.applications.plan import ApplicationPlan
from workloads.clients import coordination
from workloads.clients.coordination import NotClassic
from workloads.clients.described_groups import moving, owners, stable_positions
from workloads.clients.protocol import Log
from workloads.reference import NotLoadable
from workloads.roles.group_watch import owner_name

STEP = 0.003
"""Seconds between two questions about positions, or about the state of the group."""

REBALANCING = "PreparingRebalance"
"""State of a group of the classic protocol whose members give back what they have."""

IDLE = 0.1
"""Seconds between two looks at whether the instance runs."""


class BrokersInstanceView:
    """For one thread.

    ask          to the topics and the group of the plan. `close` closes it.
    incarnation  returns what changes with each start of the instance; None while it does not run.
    turn         held during a wait. Views take turns: each asks hundreds of times a second.
    """

    def __init__(
        self,
        plan: ApplicationPlan,
        instance: int,
        moment: Moment,
        *,
        ask: Connections,
        incarnation: Callable[[], Hashable],
        turn: threading.Lock,
    ) -> None:
        self._plan, self._moment = plan, moment
        self._name = f"app:{instance}"
        self._instances = {f"app:{number}": client for number, client in plan.clients.items()}
        self._incarnation, self._turn = incarnation, turn
        self._begun: Hashable = None
        self._ask = ask
        try:
            self._outputs = Outputs(plan.run, source=plan.source, identify=plan.identify)
        except NotLoadable as problem:
            raise NeverComes(str(problem)) from problem
        self._owned: frozenset[Log] = frozenset()
        self._positions: Mapping[Log, int | None] = {}
        self._before: dict[Log, int] = {}
        """The first positions that are known since the instance began, or got the partition."""
        self.seen = f"{self._name} was not looked at yet"

    def wait(self, limit: float) -> bool:
        if not self._turn.acquire(timeout=limit):
            return False
        try:
            return self._wait(limit)
        finally:
            self._turn.release()

    def _wait(self, limit: float) -> bool:
        began = time.monotonic()
        if self._incarnation() is None:
            self.seen = f"{self._name} does not run"
            time.sleep(min(limit, IDLE))
            return False
        self._catch_up()
        if not self._owned:
            self.seen = f"{self._name} has no partition"
            time.sleep(STEP)
            return False
        self.seen = f"{self._name} has partitions, and was not seen at the moment {self._moment}"
        if self._moment in ("uncommitted-output", "open-transaction"):
            return self._sight().comes or self._wait_outputs(limit)
        is_suspect = {
            "committed-ahead": self._has_moved, "in-flight": self._is_in_flight, "revocation": self._gives_back
        }[self._moment]  # fmt: skip
        while not is_suspect():
            if time.monotonic() - began >= limit:
                return False
            time.sleep(STEP)
        return True

    def look(self) -> Sight:
        # What is asked for later may have changed meanwhile. The order is such that this does not make the moment.
        if self._moment in ("committed-ahead", "in-flight"):
            self._ask_group()
            self._read()
        if self._moment in ("uncommitted-output", "open-transaction", "in-flight"):
            self._read()
            self._ask_group()
        sight = self._sight()
        self.seen = sight.seen
        return sight

    def _sight(self) -> Sight:
        match self._moment:
            case "uncommitted-output":
                return self._look_at_outputs()
            case "committed-ahead":
                return self._look_at_positions()
            case "open-transaction":
                return self._look_at_transactions()
            case "in-flight":
                sights = [self._look_at_positions(), self._look_at_outputs(), self._look_at_transactions()]
                return next((each for each in sights if each.comes), sights[-1])
        return self._look_at_group()

    def close(self) -> None:
        self._ask.close()

    def _catch_up(self) -> None:
        """Read and ask, so that whatever comes later is new."""
        if self._moment == "revocation":
            self._ask_owners()
            return
        current = self._incarnation()
        self._ask_group()
        if not self._outputs.next:
            self._outputs.next = self._ask.starts()
        self._read()
        if current != self._begun:
            self._begun = current
            for log in self._source:
                self._begin(log)

    def _begin(self, log: Log) -> None:
        """What was done with the partition before was not done by this process of the instance."""
        self._outputs.begin(log)
        self._before.pop(log, None)
        self._note_before(log)

    def _note_before(self, log: Log) -> None:
        if (position := self._positions.get(log, 0)) is not None:
            self._before.setdefault(log, position)

    def _read(self) -> None:
        """Sink and source up to their ends."""
        following = self._outputs.next
        for topic in (self._plan.sink, self._plan.source):
            left = {log for log in following if log[0] == topic}
            while left:
                for log, found in self._ask.read({log: following[log] for log in left}).items():
                    if (
                        not self._outputs.read(log, found.records or b"")
                        or following[log] >= found.high_watermark
                    ):
                        left.discard(log)
        self._outputs.settle()

    def _ask_group(self) -> None:
        self._ask_owners()
        self._ask_positions()

    def _ask_positions(self) -> None:
        logs = self._source
        self._positions = self._ask.ask_coordinator(lambda ask: stable_positions(ask, self._plan.group, logs))
        for log in self._owned - self._before.keys():
            self._note_before(log)

    @property
    def _source(self) -> tuple[Log, ...]:
        return tuple(log for log in self._ask.logs if log[0] == self._plan.source)

    def _ask_owners(self) -> None:
        if len(self._instances) == 1 and self._moment != "revocation":
            self._owned = frozenset(self._source)
            return
        members = self._ask.ask_coordinator(lambda ask: owners(ask, self._plan.group) or {})
        owned = frozenset(
            log
            for log, member in members.items()
            if log[0] == self._plan.source and owner_name(member, self._instances) == self._name
        )
        if self._moment == "revocation":
            # While the group rebalances, its members have nothing.
            self._owned = owned if members else self._owned
            return
        for log in owned - self._owned:
            self._begin(log)
        self._owned = owned

    def _wait_outputs(self, limit: float) -> bool:
        start = {log: offset for log, offset in self._outputs.next.items() if log[0] == self._plan.sink}
        # An answer to an earlier question may have only what was read since.
        return any(
            found.high_watermark > start[log] for log, found in self._ask.wait_records(start, limit).items()
        )

    def _has_moved(self) -> bool:
        self._ask_positions()
        return self._look_at_positions().comes

    def _is_in_flight(self) -> bool:
        return self._wait_outputs(STEP) or self._has_moved()

    def _ahead(self, log: Log) -> int:
        """How many inputs the position is ahead of the outputs; 0 or less where it is not, or is unknown."""
        before = self._before.get(log)
        if before is None:
            return 0
        return (self._positions.get(log) or 0) - max(self._outputs.last(log) + 1, before)

    def _look_at_outputs(self) -> Sight:
        for log in sorted(self._owned):
            position = self._positions.get(log, -1)
            if position is not None and (found := self._outputs.from_position(log, max(position, 0))):
                first, output = found[0]
                known = (
                    "no position is committed" if position < 0 else f"the committed position is {position}"
                )
                return _sight(
                    f"output {output}, of input {first}, was acknowledged; {known}",
                    count=len(found),
                    input=first,
                    output=output,
                    position=max(position, 0),
                )
        return Sight(comes=False, seen=f"each output of {self._name} is before a committed position")

    def _look_at_positions(self) -> Sight:
        for log in sorted(self._owned):
            if (count := self._ahead(log)) > 0:
                position = self._positions.get(log) or 0
                first = Place(log, position - count)
                return _sight(
                    f"position {position} of {log[0]}-{log[1]} is committed; inputs {first.offset} to {position - 1} "
                    f"have no acknowledged output",
                    count=count,
                    input=first,
                    position=position,
                )
        return Sight(
            comes=False, seen=f"each input of {self._name} before a committed position has an output"
        )

    def _look_at_transactions(self) -> Sight:
        found = self._outputs.in_transactions(self._owned)
        # A transaction whose end is decided, and whose markers are not all written yet, is not open any more.
        if found and (ongoing := self._ask.ongoing(found)) is not None:
            found = {producer: pairs for producer, pairs in found.items() if producer in ongoing}
        pairs = sorted(pair for each in found.values() for pair in each)
        if not pairs:
            return Sight(comes=False, seen=f"no output of {self._name} is in an open transaction")
        first, output = pairs[0]
        return _sight(
            f"{len(pairs)} outputs, such as {output} of input {first}, are in a transaction that has not ended",
            count=len(pairs),
            input=first,
            output=output,
        )

    def _gives_back(self) -> bool:
        return self._look_at_group().comes

    def _look_at_group(self) -> Sight:
        group = self._plan.group
        try:
            state = self._ask.ask_coordinator(lambda ask: coordination.state(ask, "group", group))
        except NotClassic:
            found = self._ask.ask_coordinator(lambda ask: moving(ask, group))
            left = {log for log, member in found.items() if owner_name(member, self._instances) == self._name}
            state = "reconciling"
        else:
            left = set(self._owned) if state == REBALANCING else set()
        partitions = ", ".join(f"{topic}-{number}" for topic, number in sorted(left))
        self.seen = f"group {group} is {state}"
        if not left:
            return Sight(comes=False, seen=self.seen)
        self.seen = f"group {group} is {state}; {self._name} has to give back {partitions}"
        return Sight(comes=True, seen=self.seen, facts={"partitions": partitions.split(", "), "state": state})


def _sight(seen: str, *, count: int, position: int | None = None, **places: Place) -> Sight:
    facts: dict[str, object] = {
        name: {"topic": place.log[0], "partition": place.log[1], "offset": place.offset}
        for name, place in places.items()
    }
    if position is not None:
        facts["position"] = position
    return Sight(comes=True, seen=seen, facts={**facts, "count": count})
