"""Clients that send without transactions: idempotent producers, and sessions that also read."""

from __future__ import annotations

from typing import Any

from tests.support.miniature.client import Client, Positions
from tests.support.miniature.partition import Partition
from tests.support.miniature.scheduler import MS, Steps
from tests.support.miniature.state import State

DELIVERY_TIMEOUT = 150 * MS


class Producer(Client):
    """Sends with idempotence: retried records are in the log once, and in order."""

    def __init__(self, state: State, process: int) -> None:
        super().__init__(state, process, "producer")

    def work(self) -> Steps:
        while self.state.is_loaded:
            yield from self.send_batch(self.any_partition())
            yield self.delay()

    def send_batch(self, partition: Partition, **columns: Any) -> Steps:
        batch = [self.begin_send(partition, **columns) for _ in range(self.random.randint(1, 3))]
        if self.random.random() < 0.05:
            # Refused before it reached a log.
            yield self.delay()
            for row, _ in batch:
                self.complete(row, "fail")
            return
        offsets = yield from self.deliver(partition, [entry for _, entry in batch], DELIVERY_TIMEOUT)
        for number, (row, _) in enumerate(batch):
            if offsets is None:
                self.complete(row, "info")
            else:
                # A broker reports no offset for a retry of a batch that it appended too long ago.
                self.complete(row, offset=None if self.random.random() < 0.03 else offsets[number])


class Session(Producer):
    """Writes, and reads to the end. The next process of the session continues at its positions."""

    def __init__(
        self, state: State, process: int, number: int, positions: Positions, *, committed: bool
    ) -> None:
        super().__init__(state, process)
        self.role, self.number, self.positions = "session", number, positions
        self.committed = committed

    def work(self) -> Steps:
        while self.state.is_loaded:
            partition = self.any_partition()
            yield from self.send_batch(partition, session=self.number)
            yield from self._read(partition)
            yield self.delay()

    def _read(self, partition: Partition) -> Steps:
        start = self.positions.get(partition, 0)
        columns = {"value": {"committed": True}} if self.committed else {}
        row = self.begin(
            "read", partition=partition.number, session=self.number, start_offset=start, **columns
        )
        yield self.delay(5)
        # A new leader returns no end offset before it knows the high watermark.
        while not partition.has_leader or partition.high_watermark < partition.replicated:
            yield self.delay(5)
            if partition.is_deleted:
                self.complete(row, "info")
                return
        end = partition.end(committed=self.committed)
        if "stale" in self.state.flaws:
            end = max(0, end - 4)
        row["end_offset"], position = end, start
        while position < end and not partition.is_deleted:
            position = yield from self.poll(
                partition, position, committed=self.committed, op=row["op"], session=self.number
            )
        self.complete(row, "info" if position < end else "ok")
        self.positions[partition] = max(end, position)
