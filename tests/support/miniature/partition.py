"""A partition: its log, its high watermark and last stable offset, elections and fetches. No time passes here."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, field
from random import Random

TOPIC = "t"

ACTIVE = 5
"""Entries of the active segment."""


@dataclass(eq=False)
class Transaction:
    op: int
    transactional_id: str
    identity: tuple[int, int]
    """Id and epoch of its producer."""
    outcome: str | None = None
    """``commit`` or ``abort`` once it is decided. Markers are then written until they are replicated."""
    partitions: set[int] = field(default_factory=set)
    is_complete: bool = False
    """All of its markers are replicated."""


@dataclass(eq=False)
class Entry:
    """A record, or the marker of a transaction's end, which consumers do not get."""

    value: int | None
    key: int | None = None
    transaction: Transaction | None = None
    epoch: int = 0
    appended: int = 0
    """ns."""
    tombstone: bool = False
    """It deletes its key. The settings let it stay for longer than any run."""
    is_compacted: bool = False
    """It is gone: a later record has its key, or its transaction was aborted."""

    @property
    def is_marker(self) -> bool:
        return self.value is None


@dataclass(eq=False)
class Partition:
    number: int
    leader: int
    random: Random
    flaws: Collection[str]
    epoch: int = 0
    entries: list[Entry] = field(default_factory=list)
    """By offset. Those below the log start stay here, and no reader gets them."""
    log_start: int = 0
    replicated: int = 0
    """The end of what every replica has that may be elected. It is never lost."""
    high_watermark: int = 0
    """As the leader knows it. After an election it may lag behind `replicated`; reads end at it."""
    has_leader: bool = True
    is_deleted: bool = False
    """With its topic. A topic that is created again has other partitions with the same numbers."""
    is_isolated: bool = False
    """The leader appends records, and no follower copies them."""
    isr: list[int] = field(default_factory=lambda: [1, 2, 3])

    def delete(self) -> None:
        self.is_deleted, self.has_leader = True, False

    def append(self, entries: Collection[Entry], now: int) -> None:
        """Append those that are missing: an idempotent producer's retry carries the same sequence numbers."""
        for entry in entries:
            if entry not in self.entries:
                entry.epoch, entry.appended = self.epoch, now
                self.entries.append(entry)
            elif "duplicate" in self.flaws and entry.transaction is None:
                self.entries.append(Entry(entry.value, entry.key, epoch=self.epoch, appended=now))

    def replicate(self) -> None:
        if self.has_leader and not self.is_isolated:
            self.replicated = self.random.randint(self.replicated, len(self.entries))
            is_known = self.random.random() < 0.5
            self.high_watermark = (
                self.replicated if is_known else self.random.randint(self.high_watermark, self.replicated)
            )

    def elect(self, leader: int) -> int:
        """Elect a leader that lacks some of what is not replicated. Returns the number of entries truncated."""
        before = len(self.entries)
        end = self.random.randint(self.replicated, before)
        if "lost" in self.flaws:
            self.replicated = end = max(0, self.replicated - 2)
        del self.entries[end:]
        self.high_watermark = max(self.log_start, self.replicated - self.random.randint(0, 5))
        self.leader, self.epoch, self.is_isolated, self.has_leader = leader, self.epoch + 1, False, True
        return before - end

    def remove(self, before: int) -> int:
        """Move the log start, up to the high watermark at most. Returns the number of entries removed."""
        former, self.log_start = self.log_start, max(self.log_start, min(before, self.high_watermark))
        return self.log_start - former

    def compact(self) -> int:
        """Remove what later records replace, in the part of the log in which no transaction is open. Returns the
        number of records removed."""
        newest: set[int | None] = set()
        removed = 0
        # The active segment is not compacted.
        for entry in reversed(self.entries[self.log_start : max(0, self.last_stable_offset - ACTIVE)]):
            if entry.is_marker or entry.is_compacted:
                continue
            is_aborted = entry.transaction is not None and entry.transaction.outcome == "abort"
            is_forgotten = entry.tombstone and "forgotten" in self.flaws
            if is_aborted or entry.key in newest or is_forgotten or "overcompact" in self.flaws:
                entry.is_compacted, removed = True, removed + 1
            newest |= set() if is_aborted else {entry.key}
        return removed

    @property
    def last_stable_offset(self) -> int:
        """The first record of a transaction whose marker is not below the high watermark; at least the log start."""
        below = self.entries[: self.high_watermark]
        ended = {entry.transaction for entry in below if entry.is_marker}
        for offset, entry in enumerate(below):
            if entry.transaction is not None and not entry.is_marker and entry.transaction not in ended:
                return max(offset, self.log_start)
        return self.high_watermark

    def end(self, *, committed: bool) -> int:
        """Where a reader of this isolation level stops."""
        if "unreplicated" in self.flaws:
            return len(self.entries)
        return self.last_stable_offset if committed and "early" not in self.flaws else self.high_watermark

    def fetch(self, position: int, limit: int, *, committed: bool) -> tuple[list[tuple[int, Entry]], int]:
        """Records with their offsets, and the next position.

        A consumer whose position lies below the log start goes on there, with auto.offset.reset=earliest.
        """
        fetched: list[tuple[int, Entry]] = []
        position, end = max(position, self.log_start), self.end(committed=committed)
        while position < end and len(fetched) < limit:
            entry = self.entries[position]
            if self._is_visible(entry, committed=committed):
                fetched.append((position, entry))
            position += 1
        if "disorder" in self.flaws:
            fetched.reverse()
        return fetched, position

    def search(self, timestamp: int) -> int | None:
        """The first offset below the high watermark that was not appended earlier."""
        found = (
            offset
            for offset in range(self.log_start, self.high_watermark)
            if self.entries[offset].appended >= timestamp and not self.entries[offset].is_compacted
        )
        if "misdirected" in self.flaws:
            next(found, None)
        return next(found, None)

    def _is_visible(self, entry: Entry, *, committed: bool) -> bool:
        if entry.is_marker or entry.is_compacted:
            return False
        if entry.transaction is None or not committed or "early" in self.flaws:
            return True
        if "torn" in self.flaws and self.random.random() < 0.4:
            return False
        return entry.transaction.outcome == "commit" or "aborted" in self.flaws
