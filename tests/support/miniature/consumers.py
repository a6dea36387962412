"""Clients of the miniature cluster that poll: readers, and members of a consumer group."""

from __future__ import annotations

from typing import Any

from tests.support.miniature.brokers import Group, Member
from tests.support.miniature.client import Client, Steps, Surroundings


class Reader(Client):
    """Follows logs, and seeks now and then."""

    def __init__(self, cluster: Surroundings, process: int, *, committed: bool) -> None:
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


class Consumer(Client):
    """A member of a group: polls what it is assigned, commits, gives it up when asked."""

    def __init__(self, cluster: Surroundings, process: int, group: Group) -> None:
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
