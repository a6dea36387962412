"""Tables of any size in order: chunks are sorted in memory, spilled, and merged batch by batch."""

from __future__ import annotations

import heapq
from bisect import bisect_left
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

Key = tuple[tuple[bool, Any], ...]

WORD = 63
"""Bits of a positive int64."""

PIECES = 8
"""Of a chunk. So large a piece is put together first of batches, which cost some kilobytes each besides, and is
sorted at a time when runs are merged: to sort less takes as long."""

SPILLED = pa.ipc.IpcWriteOptions(compression="lz4")
"""Pressing costs less than writing and reading all of it."""

Thin = Callable[[Callable[[str], pa.Array]], pa.Array]
"""Which of sorted rows are kept, from what gives it a column of them by name."""


def in_order(table: pa.Table, keys: Sequence[str], thin: Thin | None = None) -> pa.Table:
    """Sorted by `keys`, ascending, nulls last; of equal rows, the first stays the first."""
    same = _same(table)
    varying = [key for key in keys if key not in same]
    packed = _packed(table, varying)
    if packed is None:
        places = pc.sort_indices(table, [(key, "ascending") for key in varying])
    else:
        places = pc.sort_indices(packed)

    def moved(name: str) -> pa.Array:
        return pa.repeat(same[name], len(places)) if name in same else flat(table[name].take(places))

    if thin:
        # Before the other columns are moved: that is what costs.
        places = places.filter(thin(moved))
    return pa.Table.from_arrays([moved(name) for name in table.column_names], schema=table.schema)


def _same(table: pa.Table) -> dict[str, pa.Scalar]:
    """Columns that have one value in all rows, with it."""
    values = {name: _value(table[name]) for name in table.column_names}
    return {name: value for name, value in values.items() if value is not None}


def _value(column: pa.ChunkedArray | pa.Array) -> pa.Scalar | None:
    """The only value, maybe null, of a column of text or nulls; None for others, which are moved in no time."""
    if not len(column):
        return None
    first = column[0]
    if column.null_count == len(column):
        return first
    if pa.types.is_string(column.type) and first.equals(column[-1]):
        same = pc.all(pc.equal(column, first), skip_nulls=False)
        return first if same.as_py() else None
    return None


def flat(column: pa.ChunkedArray) -> pa.Array:
    if column.num_chunks == 1:
        return column.chunk(0)
    return pa.concat_arrays(column.chunks) if column.num_chunks else pa.array([], column.type)


def numbered(column: pa.ChunkedArray | pa.Array) -> tuple[pa.Array, int]:
    """A number from 0 for each value, in their order and null last, and the bits that it takes."""
    column = flat(column) if isinstance(column, pa.ChunkedArray) else column
    if _value(column) is not None:
        return pa.repeat(pa.scalar(0, pa.int64()), len(column)), 0
    if pa.types.is_string(column.type):
        coded = column.dictionary_encode()
        places = pc.cast(pc.subtract(pc.rank(coded.dictionary), 1), pa.int64())
        return pc.fill_null(pc.take(places, coded.indices), len(places)), len(places).bit_length()
    ends = pc.min_max(column)
    low, high = ends["min"].as_py(), ends["max"].as_py()
    if low is None or (low == high and not column.null_count):
        return pa.repeat(pa.scalar(0, pa.int64()), len(column)), 0
    if (high - low + 1).bit_length() > WORD:
        # Too wide to count from the lowest; nulls come last.
        ranks = pc.rank(column, tiebreaker="dense")
        return pc.cast(pc.subtract(ranks, 1), pa.int64()), len(column).bit_length()
    above = pc.subtract(pc.cast(column, pa.int64()), low)
    if column.null_count:
        above = pc.fill_null(above, high - low + 1)
    return above, (high - low + 1).bit_length()


def _packed(table: pa.Table, keys: Sequence[str]) -> pa.Array | None:
    """All keys in one number, which sorts ten times as fast as they do; None where they do not fit."""
    columns = [numbered(table[key]) for key in keys]
    if sum(bits for _, bits in columns) > WORD:
        return None
    packed = pa.repeat(pa.scalar(0, pa.int64()), len(table))
    for column, bits in columns:
        if bits:
            packed = pc.bit_wise_or(pc.shift_left(packed, bits), column)
    return packed


def chunks(batches: Iterable[pa.RecordBatch], *, memory: int) -> Iterator[pa.Table]:
    """The batches put together until they have about `memory` bytes."""
    held: list[pa.RecordBatch] = []
    size = 0
    for piece in _pieces(batches, memory=memory // PIECES):
        held.append(piece)
        size += piece.nbytes
        del piece
        if size >= memory:
            whole, held, size = pa.Table.from_batches(held), [], 0
            yield whole
            del whole
    if held:
        yield pa.Table.from_batches(held)


def _pieces(batches: Iterable[pa.RecordBatch], *, memory: int) -> Iterator[pa.RecordBatch]:
    held: list[pa.RecordBatch] = []
    rows, enough = 0, 1
    for batch in batches:
        held.append(batch)
        rows += len(batch)
        if rows >= enough:
            piece, held, rows = pa.concat_batches(held) if len(held) > 1 else batch, [], 0
            # Bytes are counted once for a piece: to count those of every batch takes as long as to read it.
            enough = max(1, memory * len(piece) // max(1, piece.nbytes))
            yield piece
            del piece
    if held:
        yield pa.concat_batches(held)


@contextmanager
def externally_sorted(
    chunks: Iterable[pa.Table],
    keys: Sequence[str],
    *,
    spill: Path,
    memory: int,
    expected: int,
    thin: Thin | None = None,
) -> Iterator[Iterator[pa.Table]]:
    """The rows of all chunks in order of `keys`, as tables; rows of equal keys are never split.

    Chunks have been taken, sorted and spilled when the context is entered; what is left is to merge them.

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
                runs = runs or Runs(spill, keys, memory=memory, expected=expected)
                runs.add(ordered)
            ordered = in_order(chunk, keys, thin)
            del chunk
        if runs is None:
            yield iter([] if ordered is None else [ordered])
        else:
            runs.add(ordered)
            del ordered
            yield runs.merged()
    finally:
        if runs is not None:
            runs.close()


class Runs:
    """Sorted runs, in batches one behind the other in a file, with the first key of each batch in memory."""

    def __init__(self, path: Path, keys: Sequence[str], *, memory: int, expected: int) -> None:
        self._path, self._keys = path, keys
        self._file = pa.OSFile(str(path), "wb")
        self._bytes, self._piece = memory * memory // max(expected, memory), memory // PIECES
        self._places: list[tuple[Key, int, int, int]] = []
        self._runs: list[tuple[pa.Schema, dict[str, pa.Scalar]]] = []

    def close(self) -> None:
        self._file.close()
        self._path.unlink()

    def add(self, table: pa.Table) -> None:
        """A run. Written in batches of about the size asked for, without columns of one value."""
        self._schema, same = table.schema, _same(table)
        # A batch of no columns would have no rows.
        same.pop(table.column_names[-1], None)
        kept = table.drop_columns(list(same))
        run = len(self._runs)
        self._runs.append((kept.schema, same))
        stream = pa.ipc.new_stream(self._file, kept.schema, options=SPILLED)
        # The schema is written with the first batch, and shall not be a part of one that is read again.
        stream.write_batch(pa.RecordBatch.from_pylist([], kept.schema))
        rows = max(256, min(65_536, self._bytes * len(table) // max(1, table.nbytes)))
        for begin in range(0, len(table), rows):
            key = _key(table, self._keys, begin)
            offset = self._file.tell()
            for batch in kept.slice(begin, rows).combine_chunks().to_batches():
                stream.write_batch(batch)
            self._places.append((key, offset, self._file.tell() - offset, run))

    def merged(self) -> Iterator[pa.Table]:
        """What is below the first key of all batches not yet read can be handed out."""
        places = sorted(self._places)
        with pa.OSFile(str(self._path)) as spilled:
            yield from self._merged(places, spilled)

    def _merged(self, places: list[tuple[Key, int, int, int]], spilled: pa.NativeFile) -> Iterator[pa.Table]:
        held: list[tuple[Key, int, pa.RecordBatch]] = []
        ready: list[pa.RecordBatch] = []
        size = 0
        for at, (key, offset, length, run) in enumerate(places):
            heapq.heappush(held, (key, offset, self._read(spilled.read_at(length, offset), run)))
            limit = places[at + 1][0] if at + 1 < len(places) else None
            while held and (limit is None or held[0][0] < limit):
                _, offset, batch = heapq.heappop(held)
                cut = len(batch) if limit is None else self._below(batch, limit)
                ready.append(batch.slice(0, cut))
                size += ready[-1].nbytes
                if cut < len(batch):
                    rest = batch.slice(cut)
                    heapq.heappush(held, (_key(rest, self._keys, 0), offset, rest))
            if limit is None or size >= self._piece:
                table, ready, size = pa.Table.from_batches(ready, self._schema), [], 0
                yield in_order(table, self._keys)
                del table

    def _read(self, message: bytes, run: int) -> pa.RecordBatch:
        schema, same = self._runs[run]
        batch = pa.ipc.read_record_batch(pa.py_buffer(message), schema)
        columns = [
            pa.repeat(same[name], len(batch)) if name in same else batch[name] for name in self._schema.names
        ]
        return pa.record_batch(columns, schema=self._schema)

    def _below(self, batch: pa.RecordBatch, limit: Key) -> int:
        return bisect_left(range(len(batch)), limit, key=lambda row: _key(batch, self._keys, row))


def _key(batch: pa.RecordBatch | pa.Table, keys: Sequence[str], row: int) -> Key:
    """Comparable, with null last."""
    return tuple((value is None, value) for value in (batch[key][row].as_py() for key in keys))
