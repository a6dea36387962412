"""Compares the replicas of a partition, batch by batch, and record by record where batches differ."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import NamedTuple

from pytest_kafkacheck.cluster.kafka.stored_batches import Batch, Record, records


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
