"""Compares the replicas of a partition, batch by batch, and record by record where batches differ.

A replica is a list of batches: those in segments that were copied from a node's disk, or, for brokers whose disks we
cannot read, those that the broker sends to a consumer near it (KIP-392). A broker of Kafka 2.4 or later answers for
its own replica, whether it leads or not.
"""

from __future__ import annotations

import io
import struct
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from hashlib import blake2b
from pathlib import Path
from typing import BinaryIO, NamedTuple

from kafka.errors import KafkaError, for_code
from kafka.record.memory_records import MemoryRecords

from workloads.clients.connection import Address, Connection
from workloads.clients.protocol import Log
from workloads.clients.requests import fetch


class Divergence(NamedTuple):
    """copies: the record of each node at this offset; None where it has none."""

    offset: int
    copies: Mapping[int, Record | None]


@dataclass(frozen=True, kw_only=True)
class Comparison:
    """compared: bytes that each replica has of it. first: the first of `different` offsets; None if there is none."""

    records: int
    compared: int
    different: int
    first: Divergence | None


def compare(
    replicas: Mapping[int, Iterator[Batch]], *, begin: int, end: int, is_compacted: bool
) -> Comparison:
    """Compare what lies from offset `begin` to `end` (exclusive).

    replicas      the batches of each node, in the order of their offsets. They are read side by side, so that few are
                  in memory.
    is_compacted  whether records may lack on some replicas, and batches be written anew: each cleans its own log.
    """
    copies = {node: _Copy(iter(each), begin, end) for node, each in replicas.items()}
    count = size = different = 0
    first: Divergence | None = None
    while any(copy.batch is not None for copy in copies.values()):
        batches = [copy.batch for copy in copies.values() if copy.batch is not None and copy.is_whole]
        if len(batches) == len(copies) and all(batch == batches[0] for batch in batches):
            count += batches[0].last - batches[0].base + 1
            size += len(batches[0].data)
            for copy in copies.values():
                copy.advance()
            continue
        aligned = len(batches) == len(copies) and len({(each.base, each.last) for each in batches}) == 1
        last = min(copy.batch.last for copy in copies.values() if copy.batch is not None)
        taken = {node: copy.take(min(last, end - 1)) for node, copy in copies.items()}
        offsets = sorted(set().union(*taken.values()))
        apart = [
            Divergence(offset, {node: found.get(offset) for node, found in taken.items()})
            for offset in offsets
            if _differ([found.get(offset) for found in taken.values()], is_compacted)
        ]
        if not apart and aligned and not is_compacted:
            # Equal records in batches that differ: the header of the batch does.
            base = batches[0].base
            apart = [Divergence(base, {node: found.get(base) for node, found in taken.items()})]
        count += len(offsets) - len(apart)
        different += len(apart)
        first = first or next(iter(apart), None)
    return Comparison(records=count, compared=size, different=different, first=first)


def _differ(found: list[Record | None], is_compacted: bool) -> bool:
    there = [each for each in found if each is not None]
    return any(each != there[0] for each in there) or (len(there) < len(found) and not is_compacted)


class _Copy:
    """A replica while it is read. batch: the next one; None at the end."""

    def __init__(self, batches: Iterator[Batch], begin: int, end: int) -> None:
        self._batches, self._done, self._end = batches, begin - 1, end
        self._records: dict[int, Record] | None = None
        self.batch: Batch | None = None
        self.advance()

    @property
    def is_whole(self) -> bool:
        """Whether there is a batch of which nothing was taken, and which lies within the offsets to compare."""
        return self.batch is not None and self.batch.base > self._done and self.batch.last < self._end

    def advance(self) -> None:
        """To the next batch with an offset that is not done."""
        if self.batch is not None:
            self._done = self.batch.last
        self._records = None
        self.batch = next((each for each in self._batches if each.last > self._done), None)
        if self.batch is not None and self.batch.base >= self._end:
            self.batch = None

    def take(self, last: int) -> dict[int, Record]:
        """The records up to that offset, by offset."""
        if self.batch is None:
            return {}
        if self._records is None:
            self._records = records(self.batch)
        found = {offset: each for offset, each in self._records.items() if self._done < offset <= last}
        if last >= min(self.batch.last, self._end - 1):
            self.advance()
        else:
            self._done = max(self._done, last)
        return found


BYTES = 8 << 20
"""Of one response."""

TIMEOUT = 10.0
"""Seconds for one answer."""

WAIT = 0.5
"""Seconds for which a broker waits for records: the high watermark of a follower comes a moment later."""

PATIENCE = 5.0
"""Seconds for a replica to have a record below the high watermark of its leader."""


def copy_replica(address: Address, log: Log, folder: Path, *, begin: int, end: int) -> Path:
    """Copy the replica's batches from offset `begin` to `end` (exclusive) into a file, named as segments are.

    What the replica does not have is missing in the file. Raises OSError, or KafkaError where the broker refuses.
    """
    copy = folder / f"{log[0]}-{log[1]}-{begin:020}.log"
    at, deadline = begin, time.monotonic() + PATIENCE
    with Connection(address, timeout=TIMEOUT) as connection, copy.open("wb") as target:
        while at < end and time.monotonic() < deadline:
            answer = fetch(connection.ask, {log: at}, most_bytes=BYTES, wait=WAIT)[log]
            if answer.error_code:
                raise for_code(answer.error_code)(f"fetch of {log[0]}-{log[1]} from {at} at {address}")
            # A response may end in the middle of a batch.
            for batch in batches(io.BytesIO(bytes(answer.records or b""))):
                target.write(batch.data)
                at, deadline = batch.last + 1, time.monotonic() + PATIENCE
    return copy


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
