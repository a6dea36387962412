"""A client of the miniature cluster: a generator that yields the ns until its next turn.

Clients record what the clients of the project record: a send when it begins, completed with its outcome once that is
known, and a poll when it is over. A client that is killed gets no further turn, so what was under way stays as it is.
"""

from __future__ import annotations

from collections.abc import Collection, Generator
from random import Random
from typing import Any, Protocol

from tests.support.miniature.brokers import TOPIC, Entry, Partition, Transaction

MS = 1_000_000
"""ns."""

BITS = 40
"""Of an operation's number that count within its process."""

Steps = Generator[int, None, Any]
"""Yields the ns until its next turn."""


class Surroundings(Protocol):
    """What a client knows of the run that it is part of; see `tests.support.miniature.cluster.Cluster`."""

    story: Any
    random: Random
    flaws: Collection[str]
    now: int
    load: bool
    partitions: list[Partition]
    owners: dict[str, Any]
    aborts: int
    fencings: int
    kicked: int
    refusals: int

    def fenced(self, transaction: Transaction) -> bool: ...
    def decide(self, transaction: Transaction, outcome: str) -> None: ...


class Refused(Exception):
    """The broker did not take it, and never will."""


class Client:
    def __init__(self, cluster: Surroundings, process: int, role: str) -> None:
        self.cluster, self.process, self.role = cluster, process, role
        self.random, self.story = cluster.random, cluster.story
        self._values = self._operations = 0
        self.assignment = 1

    @property
    def now(self) -> int:
        return self.cluster.now

    @property
    def going(self) -> bool:
        return self.cluster.load

    def rest(self, most: int = 50) -> int:
        return self.random.randint(1, most * MS)

    def some_partition(self) -> Partition:
        return self.random.choice(self.cluster.partitions)

    def operation_id(self) -> int:
        self._operations += 1
        return self.process << BITS | 1 << 39 | self._operations

    def begin_send(self, partition: Partition, **more: Any) -> tuple[dict[str, Any], Entry]:
        value = self.process << BITS | self._values
        self._values += 1
        row = {
            "f": "send", "op": value, "value": value, "process": self.process, "type": "info",
            "invoked": self.now, "completed": None, "topic": TOPIC, "partition": partition.number,
            "offset": None, "assignment": 0, "key": self.random.choice([None, 1, 2]), **more,
        }  # fmt: skip
        self.story.records.append(row)
        return row, Entry(value, row["key"])

    def deliver(
        self,
        partition: Partition,
        entries: list[Entry],
        patience: int,
        transaction: Transaction | None = None,
    ) -> Steps:
        """The offsets once all are replicated; None when patience is at its end: they may get there yet."""
        deadline = self.now + patience
        yield self.rest()
        while True:
            if partition.serving:
                if transaction is not None and self.cluster.fenced(transaction):
                    raise Refused
                partition.append(entries)
                if transaction is not None:
                    transaction.partitions.add(partition.number)
                while all(entry in partition.entries for entry in entries):
                    offsets = [partition.entries.index(entry) for entry in entries]
                    if max(offsets) < partition.told:
                        yield self.rest(5)
                        return offsets
                    if self.now > deadline:
                        return None
                    yield self.rest(5)
                    if "duplicate" in self.cluster.flaws and self.random.random() < 0.1:
                        partition.append(entries)
            if self.now > deadline:
                return None
            yield self.rest(5)

    def poll(
        self, partition: Partition, position: int, *, committed: bool, op: int | None = None, **more: Any
    ) -> Steps:
        """Where to go on."""
        invoked = self.now
        yield self.rest(5)
        if not partition.serving:
            return position
        found, position = partition.fetch(position, self.random.randint(1, 6), committed=committed)
        yield self.rest(5)
        op = self.operation_id() if op is None else op
        for offset, entry in found:
            self.story.records.append({
                "f": "poll", "op": op, "value": entry.value, "process": self.process, "type": "ok",
                "invoked": invoked, "completed": self.now, "topic": TOPIC, "partition": partition.number,
                "offset": offset, "leader_epoch": entry.epoch, "assignment": self.assignment, "final": False,
                "key": entry.key, "committed": committed, **more,
            })  # fmt: skip
        return position

    def operation(self, f: str, *, partition: int | None = None, **more: Any) -> dict[str, Any]:
        """A row that begins now; it is over when somebody says so."""
        row = {
            "f": f, "op": self.operation_id(), "process": self.process, "type": "info", "invoked": self.now,
            "completed": None, "topic": None if partition is None else TOPIC, "partition": partition, **more,
        }  # fmt: skip
        self.story.operations.append(row)
        return row

    def over(self, row: dict[str, Any], kind: str = "ok", **more: Any) -> None:
        row.update(type=kind, completed=self.now, **more)

    def work(self) -> Steps:
        raise NotImplementedError
        yield 0
