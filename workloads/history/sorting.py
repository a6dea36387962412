"""Tables of any size in order: chunks are sorted in memory, spilled, and merged batch by batch."""

from __future__ import annotations

import heapq
import os
from bisect import bisect_left
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

Key = tuple[tuple[bool, Any], ...]

WORD = 63
"""Bits of a positive int64."""

SMALL_BATCHES, SMALL_ROWS = 512, 1024
"""So many batches are put together where they have fewer rows than this: each costs some kilobytes besides."""


Thin = Callable[[Callable[[str], pa.Array]], pa.Array]
"""Which of sorted rows are kept, from what gives it a column of them by name."""


def in_order(table: pa.Table, keys: Sequence[str], thin: Thin | None = None) -> pa.Table:
    """Sorted by `keys`, ascending, nulls last; of equal rows, the first stays the first."""
    packed = _packed(table, keys)
    by = [(key, "ascending") for key in keys]
    places = pc.sort_indices(table, by) if packed is None else pc.sort_indices(packed)
    if thin:
        # Before the other columns are moved: that is what costs.
        places = places.filter(thin(lambda name: flat(table[name].take(places))))
    return table.take(places)


def flat(column: pa.ChunkedArray) -> pa.Array:
    if column.num_chunks == 1:
        return column.chunk(0)
    return pa.concat_arrays(column.chunks) if column.num_chunks else pa.array([], column.type)


def numbered(column: pa.ChunkedArray | pa.Array) -> tuple[pa.Array, int]:
    """A number from 0 for each value, in their order and null last, and the bits that it takes."""
    column = flat(column) if isinstance(column, pa.ChunkedArray) else column
    if pa.types.is_string(column.type):
        coded = column.dictionary_encode()
        places = pc.cast(pc.subtract(pc.rank(coded.dictionary), 1), pa.int64())
        return pc.fill_null(pc.take(places, coded.indices), len(places)), len(places).bit_length()
    ends = pc.min_max(column)
    low, high = ends["min"].as_py(), ends["max"].as_py()
    if low is None:
        return pa.repeat(pa.scalar(0, pa.int64()), len(column)), 0
    above = pc.subtract(pc.cast(column, pa.int64()), low)
    return pc.fill_null(above, high - low + 1), (high - low + 1).bit_length()


def _packed(table: pa.Table, keys: Sequence[str]) -> pa.Array | None:
    """All keys in one number, which sorts ten times as fast as they do; None where they do not fit."""
    columns = [numbered(table[key]) for key in keys]
    if sum(bits for _, bits in columns) > WORD:
        return None
    packed, _ = columns[0]
    for column, bits in columns[1:]:
        packed = pc.bit_wise_or(pc.shift_left(packed, bits), column)
    return packed


def chunks(batches: Iterable[pa.RecordBatch], *, memory: int) -> Iterator[pa.Table]:
    """The batches put together until they have about `memory` bytes."""
    held: list[pa.RecordBatch] = []
    small: list[pa.RecordBatch] = []
    size = rows = 0
    for batch in batches:
        small.append(batch)
        size += batch.nbytes
        rows += len(batch)
        if len(small) == SMALL_BATCHES or size >= memory:
            held += [pa.concat_batches(small)] if rows < SMALL_ROWS * len(small) else small
            small, rows = [], 0
        if size >= memory:
            whole, held, size = pa.Table.from_batches(held), [], 0
            yield whole
            del whole
    if held or small:
        yield pa.Table.from_batches(held + small)


def externally_sorted(
    chunks: Iterable[pa.Table],
    keys: Sequence[str],
    *,
    spill: Path,
    memory: int,
    expected: int,
    thin: Thin | None = None,
) -> Iterator[pa.Table]:
    """The rows of all chunks in order of `keys`, as tables; rows of equal keys are never split.

    spill     a file for sorted chunks where there are several; removed at the end.
    memory    bytes of a chunk; the batches that are merged have about as many together.
    expected  bytes that will come, roughly.
    thin      says which rows of a sorted chunk are kept.
    """
    ordered: pa.Table | None = None
    runs: Runs | None = None
    try:
        for chunk in chunks:
            # One chunk alone is not spilled; so each is, as soon as there is another.
            if ordered is not None:
                runs = runs or Runs(spill, keys, bytes_per_batch=memory * memory // max(expected, memory))
                runs.add(ordered)
            ordered = in_order(chunk, keys, thin)
            del chunk
        if runs is not None:
            runs.add(ordered)
            del ordered
            yield from runs.merged()
        elif ordered is not None:
            yield ordered
    finally:
        if runs is not None:
            runs.close()


class Runs:
    """Sorted runs, in batches one behind the other in a file, with the first key of each batch in memory."""

    def __init__(self, path: Path, keys: Sequence[str], *, bytes_per_batch: int) -> None:
        self._path, self._keys = path, keys
        self._file = os.open(path, os.O_RDWR | os.O_CREAT | os.O_TRUNC, 0o600)
        self._bytes = bytes_per_batch
        self._places: list[tuple[Key, int, int]] = []
        self._end = 0

    def close(self) -> None:
        os.close(self._file)
        self._path.unlink()

    def add(self, table: pa.Table) -> None:
        """A run. Written in batches of about the size asked for."""
        self._schema = table.schema
        rows = max(256, min(65_536, self._bytes * len(table) // max(1, table.nbytes)))
        for batch in table.to_batches(max_chunksize=rows):
            message = batch.serialize()
            self._places.append((_key(batch, self._keys, 0), self._end, len(message)))
            rest = memoryview(message)
            while rest:
                written = os.pwrite(self._file, rest, self._end)
                self._end += written
                rest = rest[written:]

    def merged(self) -> Iterator[pa.Table]:
        """What is below the first key of all batches not yet read can be handed out."""
        places = sorted(self._places)
        held: list[tuple[Key, int, pa.RecordBatch]] = []
        for at, (key, offset, length) in enumerate(places):
            message = pa.py_buffer(os.pread(self._file, length, offset))
            heapq.heappush(held, (key, offset, pa.ipc.read_record_batch(message, self._schema)))
            limit = places[at + 1][0] if at + 1 < len(places) else None
            ready = []
            while held and (limit is None or held[0][0] < limit):
                _, offset, batch = heapq.heappop(held)
                cut = len(batch) if limit is None else self._below(batch, limit)
                ready.append(batch.slice(0, cut))
                if cut < len(batch):
                    rest = batch.slice(cut)
                    heapq.heappush(held, (_key(rest, self._keys, 0), offset, rest))
            if ready:
                table = pa.Table.from_batches(ready, self._schema)
                yield table if len(ready) == 1 else in_order(table, self._keys)

    def _below(self, batch: pa.RecordBatch, limit: Key) -> int:
        return bisect_left(range(len(batch)), limit, key=lambda row: _key(batch, self._keys, row))


def _key(batch: pa.RecordBatch, keys: Sequence[str], row: int) -> Key:
    """Comparable, with null last."""
    return tuple((value is None, value) for value in (batch[key][row].as_py() for key in keys))
