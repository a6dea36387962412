"""A consumer group as its coordinator keeps it: members, generations and committed offsets."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, field


@dataclass(eq=False)
class Member:
    process: int
    generation: int | None = None
    owned: tuple[int, ...] = ()
    must_revoke: bool = False
    """A rebalance waits for it to revoke what it owns."""
    has_joined: bool = False
    """It is ready for the next generation."""
    is_assigned: bool = False
    """The coordinator has an assignment for it that it has not taken up yet."""
    is_removed: bool = False
    """Its session timed out."""
    last_heartbeat: int = 0
    """ns."""


@dataclass
class Group:
    name: str
    read_committed: bool
    partitions: int
    flaws: Collection[str]
    generation: int = 0
    members: list[Member] = field(default_factory=list)
    committed: dict[int, int] = field(default_factory=dict)
    is_rebalancing: bool = False

    def join(self, process: int, now: int) -> Member:
        member = Member(process, last_heartbeat=now, has_joined=True)
        self.members.append(member)
        self.is_rebalancing = True
        return member

    def leave(self, member: Member) -> None:
        if member in self.members:
            self.members.remove(member)
            self.is_rebalancing = True

    def rebalance(self, now: int, session_timeout: int) -> bool:
        """One step of a rebalance; True when a generation begins. Removes members whose session timed out."""
        for member in [each for each in self.members if now - each.last_heartbeat > session_timeout]:
            self.members.remove(member)
            member.is_removed, member.is_assigned = True, False
            self.is_rebalancing = True
        if not self.is_rebalancing:
            return False
        for member in self.members:
            member.must_revoke = not member.has_joined
        if not self.members or not all(member.has_joined for member in self.members):
            return False
        self.generation += 1
        self.is_rebalancing = False
        for number, member in enumerate(self.members):
            owned = range(number, self.partitions, len(self.members))
            member.owned = tuple(range(self.partitions) if "double" in self.flaws else owned)
            member.generation, member.is_assigned = self.generation, True
            member.has_joined = member.must_revoke = False
        return True

    def start_offset(self, partition: int) -> int:
        offset = self.committed.get(partition, 0)
        if "rewind" in self.flaws:
            return 0
        return offset + 2 if "skip" in self.flaws else offset

    def commit(self, member: Member, generation: int | None, partition: int, offset: int) -> bool:
        """Whether the coordinator accepts the commit."""
        is_current = not member.is_removed and generation == self.generation
        if is_current or "fenced" in self.flaws:
            self.committed[partition] = offset
            return True
        return False
