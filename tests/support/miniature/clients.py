"""Clients of the brokers of `safe_brokers`, each a generator that yields the ns until it goes on.

What they do they write down as clients of the project do: a send when it begins, with what became of it once that
is known, a poll when it is over. A client that is killed never goes on, so what was under way stays as it is.
"""

from __future__ import annotations

from collections.abc import Generator
from typing import TYPE_CHECKING, Any

from tests.support.miniature.brokers import TOPIC, Entry, Group, Member, Partition, Transaction

if TYPE_CHECKING:
    from tests.support.miniature.cluster import Cluster

MS = 1_000_000
BITS = 40

Steps = Generator[int, None, Any]


class Refused(Exception):
    """The broker did not take it, and never will."""


class Client:
    def __init__(self, cluster: Cluster, process: int, role: str) -> None:
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


class Producer(Client):
    """Sends with idempotence: what it tries again is there once, and in order."""

    def __init__(self, cluster: Cluster, process: int) -> None:
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

    def __init__(self, cluster: Cluster, process: int, number: int, positions: dict[int, int]) -> None:
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


class Reader(Client):
    """Follows logs, and seeks now and then."""

    def __init__(self, cluster: Cluster, process: int, *, committed: bool) -> None:
        super().__init__(cluster, process, "reader")
        self._committed = committed

    def work(self) -> Steps:
        positions = dict.fromkeys(range(len(self.cluster.partitions)), 0)
        while self.going:
            partition = self.some_partition()
            if self.random.random() < 0.05:
                self.assignment += 1
                positions[partition.number] = self.random.randint(0, partition.told)
            at = positions[partition.number]
            positions[partition.number] = yield from self.poll(partition, at, committed=self._committed)
            yield self.rest()


class Transactor(Client):
    """Writes in transactions, reads what others committed, and is fenced by whoever claims its id later."""

    def __init__(self, cluster: Cluster, process: int, name: str) -> None:
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


class Consumer(Client):
    """A member of a group: polls what it is assigned, commits, gives it up when asked."""

    def __init__(self, cluster: Cluster, process: int, group: Group) -> None:
        super().__init__(cluster, process, "member")
        self.group = group
        self.positions: dict[int, int] = {}
        self._refused = False

    def work(self) -> Steps:
        while self.going:
            member = yield from self._join()
            yield from self._serve(member)

    def _join(self) -> Steps:
        row = self._told("joined", None)
        member = self.group.join(self.process, self.now)
        yield self.rest()
        self.over(row)
        return member

    def _told(self, event: str, partition: int | None, **more: Any) -> dict[str, Any]:
        value = {"event": event, "member": f"m{self.process}"}
        return self.operation("member", partition=partition, value=value, group=self.group.name, **more)

    def _serve(self, member: Member) -> Steps:
        """Until it leaves, or is told that it was left out."""
        self._refused = False
        while True:
            member.seen = self.now
            # It learns so when a commit is refused, or by a heartbeat some time; until then it goes on.
            if member.kicked and (self._refused or self.random.random() < 0.2):
                yield from self._each("lost", member)
                self.cluster.kicked += 1
                return
            if not self.going or self.random.random() < 0.01:
                yield from self._commit(member)
                yield from self._each("revoked", member)
                row = self._told("left", None)
                yield self.rest(5)
                self.group.leave(member)
                self.over(row)
                return
            if member.asked:
                if self.random.random() < 0.7:
                    yield from self._commit(member)
                yield from self._each("revoked", member)
                # What it was told for the generation that ends now, and has not taken up, counts no more.
                member.asked, member.ready, member.told = False, True, False
            elif member.told:
                yield from self._assigned(member)
            elif self.positions and not member.ready:
                yield from self._poll(member)
            yield self.rest(10)

    def _each(self, event: str, member: Member) -> Steps:
        rows = [self._told(event, number, generation=member.generation) for number in sorted(self.positions)]
        if rows:
            yield self.rest(5)
        for row in rows:
            self.over(row)
        self.positions.clear()

    def _assigned(self, member: Member) -> Steps:
        member.told = False
        self.assignment += 1
        generation = member.generation
        rows = {number: self._told("assigned", number, generation=generation) for number in member.owned}
        yield self.rest(5)
        for number, row in rows.items():
            self.positions[number] = self.group.start(number)
            self.over(row, start_offset=self.positions[number])

    def _poll(self, member: Member) -> Steps:
        number = self.random.choice(sorted(self.positions))
        partition = self.cluster.partitions[number]
        position = yield from self.poll(
            partition, self.positions[number], committed=self.group.careful, generation=member.generation
        )
        self.positions[number] = position
        if self.random.random() < 0.3:
            yield from self._commit(member)
        elif self.random.random() < 0.03 and not (member.kicked or member.asked):
            self.assignment += 1
            self.positions[number] = self.random.randint(0, position)
            yield from self._commit(member, reset=number)

    def _commit(self, member: Member, *, reset: int | None = None) -> Steps:
        if not self.positions:
            return
        generation = member.generation
        rows = []
        for number, position in sorted(self.positions.items()):
            if reset is not None and number != reset:
                continue
            value: dict[str, Any] = {"member": f"m{self.process}"} | (
                {} if reset is None else {"reset": True}
            )
            more = {"group": self.group.name, "generation": generation, "end_offset": position}
            rows.append(self.operation("commit", partition=number, value=value, **more))
        yield self.rest()
        taken = [self.group.commit(member, generation, row["partition"], row["end_offset"]) for row in rows]
        member.seen = self.now
        yield self.rest(5)
        for row, ok in zip(rows, taken, strict=True):
            self.over(row, "ok" if ok else "fail")
            self.cluster.refusals += not ok
            self._refused |= not ok
