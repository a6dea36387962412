"""A consumer group as its coordinator keeps it: members, generations and committed offsets."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, field

from tests.support.miniature.partition import Partition


@dataclass(eq=False)
class Member:
    process: int
    instance: str | None = None
    """Its group.instance.id, if it is a static member."""
    generation: int | None = None
    owned: tuple[int, ...] = ()
    must_revoke: bool = False
    """A rebalance waits for it to revoke what it owns."""
    has_joined: bool = False
    """It is ready for the next generation."""
    is_assigned: bool = False
    """The coordinator has an assignment for it that it has not taken up yet."""
    is_removed: bool = False
    """Its session timed out, or another member has its group.instance.id."""
    is_replaced: bool = False
    last_heartbeat: int = 0
    """ns."""

    def replace(self) -> None:
        self.is_removed, self.is_replaced, self.is_assigned = True, True, False


@dataclass
class Group:
    name: str
    read_committed: bool
    partitions: int
    flaws: Collection[str]
    policy: str = "earliest"
    """auto.offset.reset of its members."""
    generation: int = 0
    members: list[Member] = field(default_factory=list)
    committed: dict[int, tuple[int, int]] = field(default_factory=dict)
    """Number of the commit in the log of commits, and offset."""
    pending: list[tuple[int, int, int, int]] = field(default_factory=list)
    """Of offsets in transactions without a marker: op of the transaction, partition, number, offset."""
    is_rebalancing: bool = False
    _commits: int = 0

    def join(self, process: int, now: int, instance: str | None) -> Member:
        member = Member(process, instance, last_heartbeat=now, has_joined=True)
        former = next(
            (each for each in self.members if instance is not None and each.instance == instance), None
        )
        if former is not None and self.hands_over(former, member):
            self.members[self.members.index(former)] = member
            former.replace()
            return member
        if former is not None:
            self.members.remove(former)
            former.replace()
        self.members.append(member)
        self.is_rebalancing = True
        return member

    def hands_over(self, former: Member, member: Member, /) -> bool:
        """Give a static member the assignment of the one that it replaces: without a rebalance, the generation goes
        on."""
        if self.is_rebalancing:
            return False
        member.generation, member.owned = former.generation, former.owned
        member.has_joined, member.is_assigned = False, True
        return True

    def leave(self, member: Member) -> None:
        if member in self.members:
            self.members.remove(member)
            self.is_rebalancing = True

    def remove_silent(self, now: int, session_timeout: int) -> None:
        for member in [each for each in self.members if now - each.last_heartbeat > session_timeout]:
            self.members.remove(member)
            member.is_removed, member.is_assigned = True, False
            self.is_rebalancing = True

    def rebalance(self, now: int, session_timeout: int) -> bool:
        """One step of a rebalance; True when a generation begins. Removes members whose session timed out."""
        self.remove_silent(now, session_timeout)
        if not self.is_rebalancing:
            return False
        for member in self.members:
            member.must_revoke = not member.has_joined
        if not self.members or not all(member.has_joined for member in self.members):
            return False
        self.generation += 1
        self.is_rebalancing = False
        for number, member in enumerate(self.members):
            member.owned = self.share(number)
            member.generation, member.is_assigned = self.generation, True
            member.has_joined = member.must_revoke = False
        return True

    def share(self, number: int) -> tuple[int, ...]:
        """The partitions of the member with this number."""
        step = 1 if "double" in self.flaws else len(self.members)
        return tuple(range(0 if "double" in self.flaws else number, self.partitions, step))

    def reconcile(self, _: Member, /) -> tuple[list[int], list[int]]:
        """What the member has to give up, and what it is assigned now, while it keeps the rest."""
        return [], []

    def give_up(self, member: Member, partitions: Collection[int]) -> None:
        member.owned = tuple(each for each in member.owned if each not in partitions)

    def start_offset(self, partition: Partition) -> int | None:
        """None: the coordinator refuses to answer members with read_committed while offsets are pending."""
        number = partition.number
        if self.read_committed and any(each[1] == number for each in self.pending):
            return None
        if "rewind" in self.flaws:
            return 0
        if number not in self.committed:
            first = partition.log_start + (3 if "middle" in self.flaws else 0)
            return first if self.policy == "earliest" else partition.end(committed=self.read_committed)
        offset = self.committed[number][1]
        return offset + 2 if "skip" in self.flaws else offset

    def accepts(self, member: Member, generation: int | None) -> bool:
        """Whether the coordinator accepts commits of the member."""
        return "fenced" in self.flaws or (not member.is_removed and generation == self.current(member))

    def current(self, _: Member, /) -> int | None:
        return self.generation

    def commit(self, partition: int, offset: int, transaction: int | None = None) -> None:
        self._commits += 1
        if transaction is None:
            self.committed[partition] = self._commits, offset
        else:
            self.pending.append((transaction, partition, self._commits, offset))

    def forget(self) -> None:
        """The topic was deleted, and the coordinator removes what was committed."""
        self.committed.clear()
        self.pending.clear()

    def settle(self, transaction: int, outcome: str) -> None:
        """The marker of a transaction is written. A later commit of the partition stays in force."""
        for op, partition, number, offset in [each for each in self.pending if each[0] == transaction]:
            self.pending.remove((op, partition, number, offset))
            if outcome == "commit" and number > self.committed.get(partition, (0, 0))[0]:
                self.committed[partition] = number, offset
