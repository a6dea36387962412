"""Clients of the miniature cluster that send: plain producers, sessions and transactional producers."""

from __future__ import annotations

from typing import Any

from tests.support.miniature.brokers import Partition, Transaction
from tests.support.miniature.client import MS, Client, Refused, Steps, Surroundings


class Producer(Client):
    """Sends with idempotence: what it tries again is there once, and in order."""

    def __init__(self, cluster: Surroundings, process: int) -> None:
        super().__init__(cluster, process, "producer")

    def work(self) -> Steps:
        while self.going:
            yield from self.send_some(self.some_partition())
            yield self.rest()

    def send_some(self, partition: Partition, **more: Any) -> Steps:
        begun = [self.begin_send(partition, **more) for _ in range(self.random.randint(1, 3))]
        if self.random.random() < 0.05:
            yield self.rest()
            for row, _ in begun:
                self.over(row, "fail")
            return
        offsets = yield from self.deliver(partition, [entry for _, entry in begun], 150 * MS)
        for number, (row, _) in enumerate(begun):
            if offsets is None:
                self.over(row, "info")
            else:
                # Of what it took long ago, as it finds when it is sent again, a broker names no offset.
                self.over(row, offset=None if self.random.random() < 0.03 else offsets[number])


class Session(Producer):
    """Writes, and reads to the end. Who comes after it goes on where it got to."""

    def __init__(self, cluster: Surroundings, process: int, number: int, positions: dict[int, int]) -> None:
        super().__init__(cluster, process)
        self.role, self.number, self.positions = "session", number, positions

    def work(self) -> Steps:
        while self.going:
            partition = self.some_partition()
            yield from self.send_some(partition, session=self.number)
            yield from self._read(partition)
            yield self.rest()

    def _read(self, partition: Partition) -> Steps:
        start = self.positions.get(partition.number, 0)
        row = self.operation("read", partition=partition.number, session=self.number, start_offset=start)
        yield self.rest(5)
        # A new leader does not tell the end before it knows it.
        while not partition.serving or partition.told < partition.high:
            yield self.rest(5)
        end = partition.told
        if "stale" in self.cluster.flaws:
            end = max(0, end - 4)
        row["end_offset"], position = end, start
        while position < end:
            position = yield from self.poll(
                partition, position, committed=False, op=row["op"], session=self.number
            )
        self.over(row)
        self.positions[partition.number] = max(end, position)


class Transactor(Client):
    """Writes in transactions, reads what others committed, and is fenced by whoever claims its id later."""

    def __init__(self, cluster: Surroundings, process: int, name: str) -> None:
        super().__init__(cluster, process, "producer")
        self.name, self.epoch = name, -1
        self.transaction: Transaction | None = None

    def work(self) -> Steps:
        yield from self._claim()
        positions = dict.fromkeys(range(len(self.cluster.partitions)), 0)
        while self.going and (self.cluster.owners[self.name].epoch == self.epoch or self._zombie()):
            try:
                yield from self._one(positions)
            except Refused:
                return
            yield self.rest()

    def _zombie(self) -> bool:
        return "zombie" in self.cluster.flaws

    def _claim(self) -> Steps:
        row = self.operation("init", value={"transactional_id": self.name, "epoch": -1})
        yield self.rest()
        owner = self.cluster.owners[self.name]
        owner.epoch += 1
        self.epoch, going = owner.epoch, owner.going
        if going is not None:
            self.cluster.decide(going, "abort")
            while not going.done:
                yield self.rest(5)
        self.over(row, value={"transactional_id": self.name, "epoch": self.epoch})

    def _one(self, positions: dict[int, int]) -> Steps:
        told = {"transactional_id": self.name, "epoch": self.epoch, "outcome": "commit", "ending": None}
        row = self.operation("txn", value=told)
        transaction = self.transaction = Transaction(row["op"], self.name, self.epoch)
        sends: list[dict[str, Any]] = []
        try:
            if not self.cluster.fenced(transaction):
                self.cluster.owners[self.name].going = transaction
            whole = yield from self._fill(transaction, sends, positions)
            told["outcome"] = "commit" if whole and self.random.random() < 0.7 else "abort"
            told["ending"] = self.now
            yield self.rest()
            if self.cluster.fenced(transaction):
                raise Refused
        except Refused:
            for each in (*sends, row):
                self.over(each, "fail")
            self.cluster.fencings += 1
            raise
        self.cluster.decide(transaction, str(told["outcome"]))
        deadline = self.now + 120 * MS
        while not transaction.done and self.now < deadline:
            yield self.rest(5)
        if transaction.done:
            self.cluster.aborts += told["outcome"] == "abort"
            kind = {"commit": "ok", "abort": "fail"}[str(told["outcome"])]
            self.over(row)
        else:
            kind = "info"
            self.over(row, "info")
        for each in sends:
            self.over(each, kind)
        while not transaction.done:
            yield self.rest(5)

    def _fill(
        self, transaction: Transaction, sends: list[dict[str, Any]], positions: dict[int, int]
    ) -> Steps:
        for _ in range(self.random.randint(1, 4)):
            if self.random.random() < 0.3:
                partition = self.some_partition()
                positions[partition.number] = yield from self.poll(
                    partition, positions[partition.number], committed=True, transaction=transaction.op
                )
            partition = self.some_partition()
            row, entry = self.begin_send(partition, transaction=transaction.op)
            entry.transaction = transaction
            sends.append(row)
            offsets = yield from self.deliver(partition, [entry], 150 * MS, transaction)
            if offsets is None:
                return False
            row["offset"] = offsets[0]
        return True
