"""The administrator: changes topics, and asks every broker whether it knows what was acknowledged.

Brokers learn of changes at different times, but in the order in which the controller made them. So the administrator
creates one more topic, the marker, and waits for it: a broker that reports the marker has to report, in the same
answer, every change that was acknowledged before the marker was requested.

It also removes the beginning of logs, and records what it asked for.
"""

from __future__ import annotations

import json
import random
import time
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

from workloads.clients import administration
from workloads.clients.administration import Change, Changed, Described, delete_records
from workloads.clients.connection import Address, ask
from workloads.clients.leaders import Leaders
from workloads.clients.protocol import Log
from workloads.clients.requests import EARLIEST, Ask
from workloads.history.writer import Writer
from workloads.roles.context import WorkerContext

TIMEOUT = 2.0
"""Seconds for one answer of one broker."""

MARKER_LIMIT = 3.0
"""Seconds for one broker to report the marker."""

OFFSET_LIMIT = 1.0
"""Seconds for a leader to report the first offset and the end of its log."""

CLOSE_LIMIT = 3.0
"""Seconds to delete its topics."""

MAIN_EVERY = 4
"""One of so many changes is of the main topic."""

MOST_PARTITIONS = 6
"""Of a topic, unless the workload begins with more."""

RETENTION = "retention.ms"

LEAST_RETENTION = 3_600_000
"""ms; an hour, so that nothing goes."""


def administrate(context: WorkerContext) -> None:
    """Change topics until `context.stop` is set, and inspect them in between.

    Options: interval (seconds between two changes), side_topics (number of its own topics), inspect_every (changes
    between two inspections), replication_factor (of its topics), owns_main (whether it also changes the topic of the
    others), deleted_share (of the records in a partition of that topic; a deletion removes them; 0 for none).
    """
    administrator = Administrator(context)
    context.ready()
    changes = 0
    while not context.stop.is_set():
        administrator.change()
        changes += 1
        if changes % context.options["inspect_every"] == 0:
            administrator.inspect()
        context.stop.wait(context.options["interval"])
    if not context.gone.is_set():
        administrator.inspect()
        administrator.close()


class Administrator:
    """Its topics carry its process number, so that nobody else changes them. A topic of which a change has an unknown
    outcome is given up: the change may take effect later."""

    def __init__(self, context: WorkerContext) -> None:
        self._context = context
        self._operations: Writer = context.writer("operations")
        self._choice = random.Random(f"{context.run}/{context.process}")
        (self._main,) = context.topics
        self._main_partitions = context.topics[self._main]
        self._topics: dict[str, int] = {}
        """Number of partitions of its topics, 0 for one that is deleted."""
        self._made: list[str] = []
        """All names that may exist."""
        self._count = 0
        self._deletions = Deletions(context, context.leaders())
        self._changes = 0
        self._changes_of_main = self._in_turn(self._grow_main, self._move_main, self._delete_records)
        self._changes_of_side = self._in_turn(self._delete, self._grow, self._configure)

    def change(self) -> None:
        """One change, of its own topics or of the main topic."""
        self._changes += 1
        if self._context.options["owns_main"] and self._changes % MAIN_EVERY == 0:
            next(self._changes_of_main)()
        elif len(self._topics) < self._context.options["side_topics"]:
            self._create(self._new_name("side"))
        else:
            name = self._choice.choice(sorted(self._topics))
            if self._topics[name] == 0:
                self._create(name)
            else:
                next(self._changes_of_side)(name)

    def inspect(self) -> None:
        """Ask every broker that reports a new marker for all topics. One ``inspect`` row per broker and topic."""
        marker, invoked = self._new_name("marker"), time.monotonic_ns()
        if (
            self._request(administration.create(marker, partitions=1, replication_factor=1, config={})).type
            != "ok"
        ):
            self._context.counts["inspections given up"] += 1
            return
        for node, address in self._context.brokers.items():
            self._inspect(node, partial(ask, address, timeout=TIMEOUT), marker, invoked)
        if self._request(administration.delete([marker])).type == "ok":
            self._made.remove(marker)

    def close(self) -> None:
        """Delete its topics, as far as brokers answer."""
        deadline = time.monotonic() + CLOSE_LIMIT
        while self._made and time.monotonic() < deadline:
            known = self._known()
            if known is None:
                continue
            self._made = [name for name in self._made if name in known]
            if self._made:
                self._request(administration.delete(self._made))

    def _known(self) -> dict[str, Described] | None:
        try:
            return administration.describe(self._ask_any(), self._made)
        except OSError:
            return None

    def _create(self, name: str) -> None:
        partitions, retention = self._choice.randint(1, 3), self._retention()
        change = administration.create(
            name,
            partitions=partitions,
            replication_factor=self._context.options["replication_factor"],
            config={RETENTION: str(retention)},
        )
        if self._alter(
            name, change, {"change": "create", "partitions": partitions, "retention_ms": retention}
        ):
            self._topics[name] = partitions

    def _delete(self, name: str) -> None:
        if self._alter(name, administration.delete([name]), {"change": "delete"}):
            self._topics[name] = 0

    def _grow(self, name: str) -> None:
        total = self._topics[name] + 1
        if total > MOST_PARTITIONS:
            self._delete(name)
        elif self._alter(
            name, administration.add_partitions(name, total), {"change": "partitions", "partitions": total}
        ):
            self._topics[name] = total

    def _configure(self, name: str) -> None:
        retention = self._retention()
        change = administration.configure(name, RETENTION, str(retention))
        self._alter(name, change, {"change": "config", "retention_ms": retention})

    def _grow_main(self) -> None:
        total = self._main_partitions + 1
        if total > MOST_PARTITIONS:
            self._move_main()
            return
        change = administration.add_partitions(self._main, total)
        if self._alter(self._main, change, {"change": "partitions", "partitions": total}):
            self._main_partitions = total

    def _move_main(self) -> None:
        """Its clients must not notice that."""
        partition = self._a_partition()
        count = min(self._context.options["replication_factor"], len(self._context.brokers))
        replicas = self._choice.sample(sorted(self._context.brokers), count)
        self._alter(
            self._main,
            administration.reassign((self._main, partition), replicas),
            {"change": "replicas", "partition": partition, "replicas": replicas},
        )

    def _delete_records(self) -> None:
        if share := self._context.options["deleted_share"]:
            self._deletions.delete((self._main, self._a_partition()), share)
        else:
            self._move_main()

    def _in_turn(self, *changes: Callable[..., None]) -> Iterator[Callable[..., None]]:
        """Each of them once, in random order, and then again. So a short run has all of them."""
        while True:
            yield from self._choice.sample(changes, len(changes))

    def _a_partition(self) -> int:
        """One of those of the main topic that its clients use."""
        return self._choice.randrange(self._context.topics[self._main])

    def _alter(self, name: str, change: Change, value: dict[str, Any]) -> bool:
        """Whether it was acknowledged. Gives up a topic of its own if that is unknown."""
        invoked = time.monotonic_ns()
        changed = self._request(change)
        self._record("alter", name, changed, invoked, value)
        self._context.counts["changes" if changed.type == "ok" else f"changes {changed.type}"] += 1
        if changed.type == "info":
            self._topics.pop(name, None)
        return changed.type == "ok"

    def _inspect(self, node: int, ask_broker: Ask, marker: str, invoked: int) -> None:
        names, deadline = [self._main, *self._topics], time.monotonic() + MARKER_LIMIT
        error = "the marker was not reported"
        while time.monotonic() < deadline and not self._context.gone.is_set():
            try:
                found = administration.describe(ask_broker, [marker, *names])
            except OSError as problem:
                error = type(problem).__name__
                continue
            if marker in found:
                for name in names:
                    value = {"node": node, **self._described(ask_broker, name, found.get(name))}
                    self._record("inspect", name, Changed("ok"), invoked, value)
                self._context.counts["inspections"] += 1
                return
            time.sleep(0.05)
        self._record("inspect", None, Changed("info", error), invoked, {"node": node})
        self._context.counts["inspections given up"] += 1

    def _described(self, ask_broker: Ask, name: str, found: Described | None) -> dict[str, Any]:
        """`retention_ms` is left out where the broker did not tell it."""
        if found is None:
            return {"exists": False}
        value: dict[str, Any] = {"exists": True, "partitions": len(found.replicas)}
        try:
            retention = administration.setting(ask_broker, name, RETENTION)
        except OSError:
            retention = None
        return value if retention is None else {**value, "retention_ms": int(retention)}

    def _record(
        self, f: str, topic: str | None, changed: Changed, invoked: int, value: dict[str, Any]
    ) -> None:
        self._operations.append(
            run=self._context.run,
            op=self._context.op(),
            process=self._context.process,
            f=f,
            type=changed.type,
            invoked=invoked,
            completed=time.monotonic_ns(),
            topic=topic,
            error=changed.error,
            value=json.dumps(value),
        )
        self._operations.flush()

    def _request(self, change: Change) -> Changed:
        return change(self._ask_any())

    def _ask_any(self) -> Ask:
        address: Address = self._choice.choice(list(self._context.brokers.values()))
        return partial(ask, address, timeout=TIMEOUT)

    def _new_name(self, kind: str) -> str:
        self._count += 1
        self._made.append(name := f"{kind}-{self._context.process}-{self._count}-{self._context.run}")
        return name

    def _retention(self) -> int:
        return LEAST_RETENTION + self._choice.randrange(1_000_000)


class Deletions:
    """Deletes a share of the records of a log, from its beginning. Two rows ``deletion`` for each.

    The row of the request is on disk before the request is sent. Otherwise the history of an administrator that is
    killed before it has the answer would not explain why the records are gone.
    """

    def __init__(self, context: WorkerContext, leaders: Leaders) -> None:
        self._context = context
        self._leaders = leaders
        self._operations: Writer = context.writer("operations")

    def delete(self, log: Log, share: float) -> None:
        """Ask the leader to delete this share of its records, unless that is none, or no leader answers."""
        try:
            start = self._leaders.offset(log, at=EARLIEST, limit=OFFSET_LIMIT)
            end = self._leaders.offset(log, limit=OFFSET_LIMIT)
        except TimeoutError:
            self._context.counts["deletions given up"] += 1
            return
        before, node = start + int((end - start) * share), self._leaders.leader(log)
        if before <= start or node is None:
            return
        op, invoked = self._context.op(), time.monotonic_ns()
        asked = {"topic": log[0], "partition": log[1], "start_offset": start, "end_offset": before}
        self._record(op, invoked, type="info", **asked)
        way = partial(ask, self._context.brokers[node], timeout=TIMEOUT)
        ended = delete_records(way, log, before)
        value: dict[str, Any] = {"node": node}
        if ended.low_watermark is not None:
            value["low_watermark"] = ended.low_watermark
        self._record(
            op, invoked, type=ended.type, completed=time.monotonic_ns(), error=ended.error,
            value=json.dumps(value), **asked,
        )  # fmt: skip
        self._context.counts["deletions" if ended.type == "ok" else f"deletions {ended.type}"] += 1

    def _record(self, op: int, invoked: int, **columns: Any) -> None:
        self._operations.append(
            run=self._context.run,
            op=op,
            process=self._context.process,
            f="deletion",
            invoked=invoked,
            **columns,
        )
        self._operations.flush()
