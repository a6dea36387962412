"""Batches of records as a replica has them in its segments, which are the bytes that a broker sends to a consumer."""

from __future__ import annotations

import struct
from collections.abc import Iterable, Iterator, Sequence
from hashlib import blake2b
from pathlib import Path
from typing import BinaryIO, NamedTuple

from kafka.errors import KafkaError
from kafka.record.memory_records import MemoryRecords

HEAD = struct.Struct(">qiib")
"""Base offset; bytes after these two fields; leader epoch, or a checksum in formats before 2; format."""

LAST_DELTA = struct.Struct(">i")
LAST_DELTA_AT = 23
"""Place of the difference between last and base offset, in format 2."""

PREFIX = 12
"""Bytes that the length does not count."""

LEAST = {0: 26, 1: 34, 2: 61}
"""Bytes of the smallest batch, by format."""

NO_EPOCH = -1


class Batch(NamedTuple):
    """base, last: its first and last offset. epoch: of the leader that wrote it; NO_EPOCH before format 2."""

    base: int
    last: int
    epoch: int
    data: bytes


class Record(NamedTuple):
    """timestamp: ms since the epoch; None if the batch cannot be decoded. digest: of key, value and headers."""

    epoch: int
    timestamp: int | None
    size: int
    digest: str
    value: bytes | None = None


def batches(segment: BinaryIO) -> Iterator[Batch]:
    """The batches of one segment, up to the first one that is incomplete or none at all."""
    while len(head := segment.read(HEAD.size)) == HEAD.size:
        base, length, epoch, magic = HEAD.unpack(head)
        if length + PREFIX < LEAST.get(magic, length + PREFIX + 1):
            return
        data = head + segment.read(length + PREFIX - HEAD.size)
        if len(data) < length + PREFIX:
            return
        if magic < 2:
            # The offset of a compressed message is that of its last record.
            yield Batch(base, base, NO_EPOCH, data)
        else:
            yield Batch(base, base + LAST_DELTA.unpack_from(data, LAST_DELTA_AT)[0], epoch, data)


def batches_of(segments: Iterable[Path]) -> Iterator[Batch]:
    """The batches of all segments of a partition, in the order of the files."""
    for path in segments:
        with path.open("rb") as segment:
            yield from batches(segment)


def first_offset(segments: Sequence[Path]) -> int:
    """The offset at which a replica begins, which ends the name of its first file; 0 without a file."""
    return int(segments[0].stem.rpartition("-")[2]) if segments else 0


def records(batch: Batch) -> dict[int, Record]:
    """By offset. A batch that cannot be decoded, or whose checksum is wrong, counts as one record, at its base."""
    found: dict[int, Record] = {}
    try:
        decoded = MemoryRecords(batch.data).next_batch()
        if decoded is None or not decoded.validate_crc():
            raise ValueError("wrong checksum")
        for record in decoded:
            parts = (record.key, record.value, *(part for header in record.headers or () for part in header))
            found[record.offset] = Record(
                batch.epoch,
                record.timestamp,
                sum(len(part) for part in (record.key, record.value) if part is not None),
                _digest(repr(parts).encode()),
                record.value,
            )
    except (KafkaError, ValueError, AssertionError, IndexError, struct.error, TypeError) as error:
        return {batch.base: Record(batch.epoch, None, len(batch.data), f"{type(error).__name__}: {error}")}
    return found


def _digest(data: bytes) -> str:
    return blake2b(data, digest_size=8).hexdigest()
