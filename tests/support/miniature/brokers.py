"""Brokers in miniature that keep every promise: logs with epochs, transactions, groups. Each promise can be broken.

Time does not pass here; whoever uses them does so at one moment. A *flaw* is the name of a promise that is broken.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass, field
from random import Random

TOPIC = "t"


@dataclass(eq=False)
class Transaction:
    op: int
    name: str
    epoch: int
    outcome: str | None = None
    """Once it is decided; then markers are written until they are replicated."""
    partitions: set[int] = field(default_factory=set)
    done: bool = False


@dataclass(eq=False)
class Entry:
    """A record, or the marker of a transaction's end, which readers are not given."""

    value: int | None
    key: int | None = None
    transaction: Transaction | None = None
    epoch: int = 0

    @property
    def marker(self) -> bool:
        return self.value is None


@dataclass(eq=False)
class Partition:
    number: int
    leader: int
    random: Random
    flaws: Collection[str]
    epoch: int = 0
    entries: list[Entry] = field(default_factory=list)
    high: int = 0
    """The high watermark: what lies below is on every replica that may lead, and is never lost."""
    told: int = 0
    """The high watermark as the leader knows it: a new one may lag behind, and reads end there meanwhile."""
    serving: bool = True
    cut_off: bool = False
    """Its leader takes records, and nobody copies them."""
    isr: list[int] = field(default_factory=lambda: [1, 2, 3])
    hidden: set[Entry] = field(default_factory=set)

    def append(self, entries: Collection[Entry]) -> None:
        """Those that are missing: a producer that tries again has a sequence number on each."""
        for entry in entries:
            if entry not in self.entries:
                entry.epoch = self.epoch
                self.entries.append(entry)
            elif "duplicate" in self.flaws and entry.transaction is None:
                self.entries.append(Entry(entry.value, entry.key, epoch=self.epoch))

    def replicate(self) -> None:
        if self.serving and not self.cut_off:
            self.high = self.random.randint(self.high, len(self.entries))
            self.told = self.high if self.random.random() < 0.5 else self.random.randint(self.told, self.high)

    def elect(self, leader: int) -> int:
        """Another leader, that lacks some of what was not replicated. Returns how much is gone."""
        before = len(self.entries)
        kept = self.random.randint(self.high, before)
        if "lost" in self.flaws:
            self.high = kept = max(0, self.high - 2)
        del self.entries[kept:]
        self.told = max(0, self.high - self.random.randint(0, 5))
        self.leader, self.epoch, self.cut_off, self.serving = leader, self.epoch + 1, False, True
        return before - kept

    @property
    def stable(self) -> int:
        """The last stable offset: the first record of a transaction whose marker is not replicated."""
        ended = {e.transaction for e in self.entries[: self.told] if e.marker}
        for offset, entry in enumerate(self.entries[: self.told]):
            if entry.transaction is not None and not entry.marker and entry.transaction not in ended:
                return offset
        return self.told

    def end(self, *, committed: bool) -> int:
        return self.stable if committed and "early" not in self.flaws else self.told

    def fetch(self, position: int, limit: int, *, committed: bool) -> tuple[list[tuple[int, Entry]], int]:
        """Records, and where to go on."""
        found: list[tuple[int, Entry]] = []
        end = self.end(committed=committed)
        while position < end and len(found) < limit:
            entry = self.entries[position]
            if self._shown(entry, committed=committed):
                found.append((position, entry))
            position += 1
        if "disorder" in self.flaws:
            found.reverse()
        return found, position

    def _shown(self, entry: Entry, *, committed: bool) -> bool:
        if entry.marker:
            return False
        if entry.transaction is None or not committed or "early" in self.flaws:
            return True
        if "torn" in self.flaws and self.random.random() < 0.4:
            return False
        return entry.transaction.outcome == "commit" or "aborted" in self.flaws


@dataclass
class Owner:
    """Who has a transactional id: the newest epoch of it, and the transaction that is going on."""

    epoch: int = -1
    going: Transaction | None = None


@dataclass(eq=False)
class Member:
    process: int
    generation: int | None = None
    owned: tuple[int, ...] = ()
    asked: bool = False
    """To give up what it owns, for a new generation."""
    ready: bool = False
    told: bool = False
    """A new assignment is there."""
    kicked: bool = False
    seen: int = 0
    """ns, when it was last heard of."""


@dataclass
class Group:
    name: str
    careful: bool
    partitions: int
    flaws: Collection[str]
    generation: int = 0
    members: list[Member] = field(default_factory=list)
    committed: dict[int, int] = field(default_factory=dict)
    unsettled: bool = False

    def join(self, process: int, now: int) -> Member:
        member = Member(process, seen=now, ready=True)
        self.members.append(member)
        self.unsettled = True
        return member

    def leave(self, member: Member) -> None:
        if member in self.members:
            self.members.remove(member)
            self.unsettled = True

    def settle(self, now: int, patience: int) -> bool:
        """A step of a rebalance; True when a generation begins. Who is not heard of is left out."""
        for member in [each for each in self.members if now - each.seen > patience]:
            self.members.remove(member)
            member.kicked, member.told = True, False
            self.unsettled = True
        if not self.unsettled:
            return False
        for member in self.members:
            member.asked = not member.ready
        if not self.members or not all(member.ready for member in self.members):
            return False
        self.generation += 1
        self.unsettled = False
        for number, member in enumerate(self.members):
            owned = range(number, self.partitions, len(self.members))
            member.owned = tuple(range(self.partitions) if "double" in self.flaws else owned)
            member.generation, member.told = self.generation, True
            member.ready = member.asked = False
        return True

    def start(self, partition: int) -> int:
        at = self.committed.get(partition, 0)
        if "rewind" in self.flaws:
            return 0
        return at + 2 if "skip" in self.flaws else at

    def commit(self, member: Member, generation: int | None, partition: int, offset: int) -> bool:
        current = not member.kicked and generation == self.generation
        if current or "fenced" in self.flaws:
            self.committed[partition] = offset
            return True
        return False


def owners(names: Collection[str]) -> dict[str, Owner]:
    return {name: Owner() for name in names}


def led_by(partitions: Collection[Partition], node: int) -> Iterator[Partition]:
    return (each for each in partitions if each.leader == node)
