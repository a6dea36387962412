"""What groups did, as their coordinators have written it to the topic `__consumer_offsets`.

Requests report the present only, and no generation of a group of the classic protocol. A coordinator writes a group's
state, with its generation, before it tells the members of it, and each committed position. The records have the time
in ms, and their batch says whether a commit was part of a transaction, and of whose. `OffsetCommitKey`,
`OffsetCommitValue`, `GroupMetadataKey` and `GroupMetadataValue` in Kafka's source describe them.
"""

from __future__ import annotations

import struct
from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple

from workloads.clients import requests
from workloads.clients.described_groups import GroupMember, assigned
from workloads.clients.protocol import Log
from workloads.clients.requests import MOST_BYTES, Ask, decoded

TOPIC = "__consumer_offsets"

COMMIT_KEYS = (0, 1)
"""Versions of the key of a committed position."""

GROUP_KEY = 2
"""Version of the key of a group's state."""

FLEXIBLE = 4
"""Version of the value from which on texts have a length of variable size."""

OUT_OF_RANGE = 1
"""Error code of a fetch."""


class Written(NamedTuple):
    """generation: None where the group was deleted."""

    group: str
    generation: int | None


class GroupLog:
    """Generations of groups of the classic protocol: reads what one broker has of the topic, from where it ended at
    the first call. Not thread-safe."""

    def __init__(self) -> None:
        self._count: int | None = None
        self._next: dict[int, int] = {}
        """By partition, the offset to read from."""
        self._generations: dict[int, dict[str, int]] = {}

    def begin(self, ask: Ask) -> None:
        """Find where the topic ends, once. A topic that does not exist yet is read from its beginning."""
        if self._count is None:
            self._count = self._partitions(ask)
            logs = {(TOPIC, number): -1 for number in range(self._count)}
            if logs:
                ends = requests.offsets(ask, logs, asker=requests.REPLICA)
                self._next = {number: end for (_, number), (code, end) in ends.items() if not code}

    def generation(self, ask: Ask, group: str) -> int | None:
        """The newest one that was written; None where it is not known, or the broker's answer has not all."""
        self._count = self._count or self._partitions(ask)
        if not self._count:
            return None
        number = partition_of(group, self._count)
        known, start = self._generations.setdefault(number, {}), self._next.get(number, 0)
        log = TOPIC, number
        found = requests.fetch(ask, {log: start}, most_bytes=MOST_BYTES).get(log)
        if found is None or found.error_code == OUT_OF_RANGE:
            # Its beginning was removed, or its end was truncated, and with it perhaps what is known.
            code, first = requests.offsets(ask, {log: -1}, at=requests.EARLIEST).get(log, (-1, 0))
            self._next[number] = start if code else first
            known.clear()
            return None
        if found.error_code:
            return None
        for end, written in read(found.records or b""):
            self._next[number] = start = end
            for each in written:
                if each.generation is None:
                    known.pop(each.group, None)
                else:
                    known[each.group] = each.generation
        return known.get(group) if start >= found.high_watermark else None

    def _partitions(self, ask: Ask) -> int:
        return len(requests.metadata(ask, [TOPIC]))


def read(data: bytes) -> Iterator[tuple[int, list[Written]]]:
    """By batch: the offset after it, and the states of groups in it. data: of a fetch, may end within a batch."""
    for batch in decoded(data):
        written = (_state(record.key, record.value) for record in batch) if not batch.is_control_batch else ()
        yield batch.next_offset, [each for each in written if each is not None]


def partition_of(group: str, count: int) -> int:
    """The partition of a group: Java's hash of its name, as Kafka uses it."""
    value = 0
    units = group.encode("utf-16-be")
    for (unit,) in struct.iter_unpack(">H", units):
        value = (31 * value + unit) & 0xFFFFFFFF
    signed = value - (1 << 32) if value >= 1 << 31 else value
    return 0 if signed == -(1 << 31) else abs(signed) % count


def _state(key: bytes | None, value: bytes | None) -> Written | None:
    """What a record says of a group; None for a record of another kind, and of a version that is not known."""
    if key is None or len(key) < 4 or (of := _Fields(key)).number(">h") != GROUP_KEY:
        return None
    group = of.text() or ""
    if value is None:
        return Written(group, None)
    head = _head(_Fields(value))
    return None if head is None else Written(group, head.generation)


class Commit(NamedTuple):
    """A position that took effect. time: in ms since the epoch, on the clock of the coordinator; of a commit in a
    transaction, that of its end. producer: the id of the transaction's; None outside of transactions."""

    time: int
    log: Log
    position: int
    producer: int | None


class Membership(NamedTuple):
    """The group's members, once it had given out its partitions or had nobody left. session_timeout: the longest one
    of a member, ms."""

    time: int
    generation: int
    owners: dict[Log, GroupMember]
    session_timeout: int | None


def group_history(batches: Iterable[Any], group: str) -> Iterator[Commit | Membership]:
    """Positions that a group committed, by time, and who had which partitions, in the order of the log. batches: of
    the partition of the group, as `log_batches` gives them. A transaction without an end has no commits yet, and one
    that was aborted has none."""
    pending: dict[int, list[Commit]] = {}
    for batch in batches:
        if batch.is_control_batch:
            waiting = pending.pop(batch.producer_id, [])
            for marker in batch:
                if marker.commit:
                    yield from (each._replace(time=marker.timestamp) for each in waiting)
            continue
        producer = batch.producer_id if batch.is_transactional else None
        for record in batch:
            found = _read(record, group, producer)
            if isinstance(found, Commit) and producer is not None:
                pending.setdefault(producer, []).append(found)
            elif found is not None:
                yield found


def _read(record: Any, group: str, producer: int | None) -> Commit | Membership | None:
    """None for what is not of the group, for what was deleted, and for a form that is not known."""
    if record.key is None or record.value is None:
        return None
    try:
        key, value = _Fields(record.key), _Fields(record.value)
        kind = key.number(">h")
        if kind not in (*COMMIT_KEYS, GROUP_KEY) or key.text() != group:
            return None
        if kind == GROUP_KEY:
            return _membership(value, record.timestamp)
        value.number(">h")  # version
        log = (key.text() or "", key.number(">i"))
        return Commit(record.timestamp, log, value.number(">q"), producer)
    except (struct.error, IndexError, UnicodeDecodeError):
        return None


class _Head(NamedTuple):
    """How the state of a group begins."""

    version: int
    generation: int


def _head(value: _Fields) -> _Head | None:
    """None for a version that is not known."""
    version = value.number(">h")
    if version > FLEXIBLE:
        return None
    value.is_flexible = version >= FLEXIBLE
    value.text()  # type of the protocol
    return _Head(version, value.number(">i"))


def _membership(value: _Fields, time: int) -> Membership | None:
    if (head := _head(value)) is None:
        return None
    version, generation = head
    value.text(), value.text()  # protocol, leader
    if version >= 2:
        value.number(">q")  # time of the state
    owners: dict[Log, GroupMember] = {}
    timeouts = []
    for _ in range(value.length(">i")):
        member = value.text() or ""
        instance = value.text() if version >= 3 else None
        client, _host = value.text() or "", value.text()
        if version >= 1:
            value.number(">i")  # timeout of a rebalance
        timeouts.append(value.number(">i"))
        value.content(">i")  # subscription
        given = assigned(value.content(">i"))
        value.skip_tags()
        owners |= dict.fromkeys(given, GroupMember(member, client, instance))
    return Membership(time, generation, owners, max(timeouts, default=None))


class _Fields:
    """Reads fields one after another. is_flexible: lengths have a variable size and are one too large (KIP-482)."""

    def __init__(self, data: bytes) -> None:
        self._data, self._at = bytes(data), 0
        self.is_flexible = False

    def number(self, form: str) -> int:
        (found,) = struct.unpack_from(form, self._data, self._at)
        self._at += struct.calcsize(form)
        return int(found)

    def length(self, form: str) -> int:
        """-1 for null."""
        return self._variable() - 1 if self.is_flexible else self.number(form)

    def content(self, form: str) -> bytes | None:
        length = self.length(form)
        if length < 0:
            return None
        found = self._data[self._at : self._at + length]
        self._at += length
        return found

    def text(self) -> str | None:
        found = self.content(">h")
        return None if found is None else found.decode()

    def skip_tags(self) -> None:
        if self.is_flexible:
            for _ in range(self._variable()):
                self._variable()
                size = self._variable()
                self._at += size

    def _variable(self) -> int:
        found = shift = 0
        while True:
            byte = self._data[self._at]
            self._at += 1
            found |= (byte & 0x7F) << shift
            shift += 7
            if byte < 0x80:
                return found
