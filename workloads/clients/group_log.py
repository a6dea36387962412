"""Generations of groups of the classic protocol, as their coordinators write them to the topic `__consumer_offsets`.

No request returns them. A coordinator writes a group's state, with its generation, before it tells the members of it:
a record whose key is the group (version 2 of the key; others are committed positions). The records are those of
`GroupMetadataKey` and `GroupMetadataValue` in Kafka's source.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from typing import NamedTuple

from workloads.clients import requests
from workloads.clients.log_batches import MOST_BYTES, decoded
from workloads.clients.requests import Ask

TOPIC = "__consumer_offsets"

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
    """Reads what one broker has of the topic, from where it ended at the first call. Not thread-safe."""

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
    if key is None or len(key) < 4 or struct.unpack_from(">h", key)[0] != GROUP_KEY:
        return None
    (length,) = struct.unpack_from(">h", key, 2)
    group = key[4 : 4 + length].decode()
    if value is None:
        return Written(group, None)
    (version,) = struct.unpack_from(">h", value)
    if version > FLEXIBLE:
        return None
    # The generation follows the type of the protocol, a text.
    (length,), begin = (struct.unpack_from(">h", value, 2), 4) if version < FLEXIBLE else ((value[2] - 1,), 3)
    return Written(group, struct.unpack_from(">i", value, begin + length)[0])
