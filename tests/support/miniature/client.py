"""A client of the model, and the rows that it records.

Clients record what the clients of the project record: a send when it begins, completed with its outcome once that is
known, and a poll when it is over. A killed client gets no further turn, so that its open operations stay open.
"""

from __future__ import annotations

from typing import Any

from tests.support.miniature.partition import TOPIC, Entry, Partition, Transaction
from tests.support.miniature.scheduler import MS, Steps
from tests.support.miniature.state import State
from tests.support.miniature.transactions import is_fenced
from workloads.history.schema import VALUE_BITS

FIRST_OPERATION = 1 << VALUE_BITS - 1
"""Operations of a process that are not sends are numbered from here, within the process."""


Positions = dict[Partition, int]
"""The next offset to read. A partition of a topic that was created again is another one, which is read from 0."""


class ProducerFenced(Exception):
    """The broker refuses the producer, now and later."""


class Client:
    poll_limit: float | None = None
    """See `workloads.workload.WorkerRole`."""

    def __init__(self, state: State, process: int, role: str) -> None:
        self.state, self.process, self.role = state, process, role
        self.random, self.story = state.random, state.story
        self._values = self._operations = 0
        self.assignment = 1

    @property
    def now(self) -> int:
        return self.state.now

    def delay(self, most: int = 50) -> int:
        """ns, up to `most` ms."""
        return self.random.randint(1, most * MS)

    def any_partition(self) -> Partition:
        return self.random.choice(self.state.partitions)

    def next_op(self) -> int:
        self._operations += 1
        return self.process << VALUE_BITS | FIRST_OPERATION | self._operations

    def begin_send(self, partition: Partition, **columns: Any) -> tuple[dict[str, Any], Entry]:
        value = self.process << VALUE_BITS | self._values
        self._values += 1
        is_tombstone = self.state.settings.compacts and self.random.random() < 0.2
        row = {
            "f": "send", "op": value, "value": value, "process": self.process, "type": "info",
            "invoked": self.now, "completed": None, "topic": TOPIC, "partition": partition.number,
            "offset": None, "assignment": 0, "key": self.random.choice(self.state.settings.keys),
            "tombstone": is_tombstone, **columns,
        }  # fmt: skip
        self.story.records.append(row)
        return row, Entry(value, row["key"], tombstone=is_tombstone)

    def deliver(
        self,
        partition: Partition,
        entries: list[Entry],
        timeout: int,
        transaction: Transaction | None = None,
    ) -> Steps:
        """Returns the offsets once all are replicated; None after the timeout: they may still arrive.

        In a topic that was created again meanwhile, they are sent to the new log.
        """
        deadline = self.now + timeout
        yield self.delay()
        while True:
            partition = self.state.partitions[partition.number]
            if partition.has_leader:
                if transaction is not None and is_fenced(self.state, transaction):
                    raise ProducerFenced
                partition.append(entries, self.now)
                if transaction is not None:
                    transaction.partitions.add(partition.number)
                while not partition.is_deleted and all(entry in partition.entries for entry in entries):
                    offsets = [partition.entries.index(entry) for entry in entries]
                    if max(offsets) < partition.high_watermark:
                        yield self.delay(5)
                        return offsets
                    if self.now > deadline:
                        return None
                    yield self.delay(5)
                    if "duplicate" in self.state.flaws and self.random.random() < 0.1:
                        partition.append(entries, self.now)
            if self.now > deadline:
                return None
            yield self.delay(5)

    def poll(
        self,
        partition: Partition,
        position: int,
        *,
        committed: bool,
        op: int | None = None,
        **columns: Any,
    ) -> Steps:
        """Returns the next position."""
        invoked = self.now
        yield self.delay(5)
        if not partition.has_leader:
            return position
        fetched, position = partition.fetch(position, self.random.randint(1, 6), committed=committed)
        node, served = partition.leader, self.now
        yield self.delay(5)
        op = self.next_op() if op is None else op
        for offset, entry in fetched:
            self.story.records.append({
                "f": "poll", "op": op, "value": entry.value, "process": self.process, "type": "ok",
                "invoked": invoked, "completed": self.now, "topic": TOPIC, "partition": partition.number,
                "offset": offset, "leader_epoch": entry.epoch, "assignment": self.assignment, "final": False,
                "key": entry.key, "tombstone": entry.tombstone, "committed": committed, "node": node,
                "fetched": (served + self.now) // 2, **columns,
            })  # fmt: skip
        return position

    def begin(self, f: str, *, partition: int | None = None, **columns: Any) -> dict[str, Any]:
        """A row of an operation that begins now; `complete` ends it."""
        row = {
            "f": f, "op": self.next_op(), "process": self.process, "type": "info", "invoked": self.now,
            "completed": None, "topic": None if partition is None else TOPIC, "partition": partition, **columns,
        }  # fmt: skip
        self.story.operations.append(row)
        return row

    def complete(self, row: dict[str, Any], type: str = "ok", **columns: Any) -> None:
        row.update(type=type, completed=self.now, **columns)

    def work(self) -> Steps:
        raise NotImplementedError
        yield 0
