"""Sorts tables: in memory, by packing all sort keys into one number per row, and on disk where they do not fit.

Chunks are sorted in memory, spilled as sorted runs, and merged, because a history grows with the run and not with the
memory of the machine: ten million records are some gigabytes in memory, next to the JVM and the brokers. The merge
needs one batch of each run and the first key of every batch, which are kept in memory: all rows below the first key
of the next unread batch can be returned.
"""

from __future__ import annotations

import heapq
from bisect import bisect_left
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import pyarrow as pa
import pyarrow.compute as pc

WORD = 63
"""Bits of a positive int64."""

RowFilter = Callable[[Callable[[str], pa.Array]], pa.Array]
"""Decides which of the sorted rows are kept. Its argument returns a column of the sorted rows by name."""


def in_order(table: pa.Table, keys: Sequence[str], keep: RowFilter | None = None) -> pa.Table:
    """Sort by `keys`, ascending, nulls last; the sort is stable. `keep` filters the sorted rows."""
    constants = constant_columns(table)
    varying = [key for key in keys if key not in constants]
    packed = _packed(table, varying)
    if packed is None:
        order = pc.sort_indices(table, [(key, "ascending") for key in varying])
    else:
        order = pc.sort_indices(packed)

    def moved(name: str) -> pa.Array:
        if name in constants:
            return pa.repeat(constants[name], len(order))
        return flat(table[name].take(order))

    if keep:
        # Filtered before the other columns are moved, because moving is what takes the time.
        order = order.filter(keep(moved))
    return pa.Table.from_arrays([moved(name) for name in table.column_names], schema=table.schema)


def constant_columns(table: pa.Table) -> dict[str, pa.Scalar]:
    """The columns that have the same value in all rows, with that value."""
    values = {name: _value(table[name]) for name in table.column_names}
    return {name: value for name, value in values.items() if value is not None}


def _value(column: pa.ChunkedArray | pa.Array) -> pa.Scalar | None:
    """The only value (perhaps null) of a text column or of a column of nulls; None if there are several.

    Also None for columns of numbers, which are fast to move anyway.
    """
    if not len(column):
        return None
    first = column[0]
    if column.null_count == len(column):
        return first
    if pa.types.is_string(column.type) and first.equals(column[-1]):
        is_constant = pc.all(pc.equal(column, first), skip_nulls=False)
        return first if is_constant.as_py() else None
    return None


def flat(column: pa.ChunkedArray) -> pa.Array:
    """The column as one array."""
    if column.num_chunks == 1:
        return column.chunk(0)
    return pa.concat_arrays(column.chunks) if column.num_chunks else pa.array([], column.type)


def numbered(column: pa.ChunkedArray | pa.Array) -> tuple[pa.Array, int]:
    """Replace each value by a number from 0 that sorts like it, null last. Returns also the number of bits needed."""
    column = flat(column) if isinstance(column, pa.ChunkedArray) else column
    if _value(column) is not None:
        return pa.repeat(pa.scalar(0, pa.int64()), len(column)), 0
    if pa.types.is_string(column.type):
        coded = column.dictionary_encode()
        ranks = pc.cast(pc.subtract(pc.rank(coded.dictionary), 1), pa.int64())
        return pc.fill_null(pc.take(ranks, coded.indices), len(ranks)), len(ranks).bit_length()
    ends = pc.min_max(column)
    low, high = ends["min"].as_py(), ends["max"].as_py()
    if low is None or (low == high and not column.null_count):
        return pa.repeat(pa.scalar(0, pa.int64()), len(column)), 0
    if (high - low + 1).bit_length() > WORD:
        # The distance from the lowest value does not fit; the rank does. Nulls come last.
        ranks = pc.rank(column, tiebreaker="dense")
        return pc.cast(pc.subtract(ranks, 1), pa.int64()), len(column).bit_length()
    above = pc.subtract(pc.cast(column, pa.int64()), low)
    if column.null_count:
        above = pc.fill_null(above, high - low + 1)
    return above, (high - low + 1).bit_length()


def _packed(table: pa.Table, keys: Sequence[str]) -> pa.Array | None:
    """All keys packed into one number per row, which sorts ten times as fast as several columns; None if they do not
    fit."""
    columns = [numbered(table[key]) for key in keys]
    if sum(bits for _, bits in columns) > WORD:
        return None
    packed = pa.repeat(pa.scalar(0, pa.int64()), len(table))
    for column, bits in columns:
        if bits:
            packed = pc.bit_wise_or(pc.shift_left(packed, bits), column)
    return packed


Key = tuple[tuple[bool, Any], ...]

PIECES = 8
"""Parts of a chunk. Batches are first joined to pieces of this size, because each batch takes some kilobytes besides
its rows. Merged rows are sorted one piece at a time: to sort smaller parts takes as long."""

SPILLED = pa.ipc.IpcWriteOptions(compression="lz4")
"""Compressing takes less time than writing and reading the uncompressed rows."""


class SpilledBatch(NamedTuple):
    """Where a batch of a run lies in the file. Sorts by its first key."""

    key: Key
    offset: int
    length: int
    run: int


def chunks(batches: Iterable[pa.RecordBatch], *, memory: int) -> Iterator[pa.Table]:
    """Join batches into tables of about `memory` bytes."""
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
            # Bytes are counted once per piece: counting those of every batch takes as long as reading it.
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
    keep: RowFilter | None = None,
) -> Iterator[Iterator[pa.Table]]:
    """The rows of all chunks in the order of `keys`, as tables. Rows with equal keys are in the same table.

    On entering the context, all chunks are sorted and spilled; iterating merges them.

    spill     a file for the sorted chunks, if there are several; removed at the end.
    memory    bytes of a chunk; the batches that are merged together have about as many.
    expected  bytes of all chunks, roughly.
    keep      filters the rows of each sorted chunk.
    """
    ordered: pa.Table | None = None
    runs: Runs | None = None
    try:
        for chunk in chunks:
            # A chunk is spilled when another one follows, so a single chunk is not.
            if ordered is not None:
                runs = runs or Runs(spill, keys, memory=memory, expected=expected)
                runs.add(ordered)
            ordered = in_order(chunk, keys, keep)
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
    """Sorted runs in one file, as consecutive batches. The first key of each batch is kept in memory."""

    def __init__(self, path: Path, keys: Sequence[str], *, memory: int, expected: int) -> None:
        self._path, self._keys = path, keys
        self._file = pa.OSFile(str(path), "wb")
        self._bytes, self._piece = memory * memory // max(expected, memory), memory // PIECES
        self._batches: list[SpilledBatch] = []
        self._runs: list[tuple[pa.Schema, dict[str, pa.Scalar]]] = []

    def close(self) -> None:
        self._file.close()
        self._path.unlink()

    def add(self, table: pa.Table) -> None:
        """Write a run in batches. Columns with a single value are not written."""
        self._schema, constants = table.schema, constant_columns(table)
        # A batch without columns would have no rows.
        constants.pop(table.column_names[-1], None)
        kept = table.drop_columns(list(constants))
        run = len(self._runs)
        self._runs.append((kept.schema, constants))
        stream = pa.ipc.new_stream(self._file, kept.schema, options=SPILLED)
        # The stream writes its schema with the first batch. An empty one keeps it out of the batches to be read.
        stream.write_batch(pa.RecordBatch.from_pylist([], kept.schema))
        rows = max(256, min(65_536, self._bytes * len(table) // max(1, table.nbytes)))
        for begin in range(0, len(table), rows):
            key = _key(table, self._keys, begin)
            offset = self._file.tell()
            for batch in kept.slice(begin, rows).combine_chunks().to_batches():
                stream.write_batch(batch)
            self._batches.append(SpilledBatch(key, offset, self._file.tell() - offset, run))

    def merged(self) -> Iterator[pa.Table]:
        """The rows of all runs in order."""
        with pa.OSFile(str(self._path)) as spilled:
            yield from self._merge(sorted(self._batches), spilled)

    def _merge(self, batches: list[SpilledBatch], spilled: pa.NativeFile) -> Iterator[pa.Table]:
        held: list[tuple[Key, int, pa.RecordBatch]] = []
        ready: list[pa.RecordBatch] = []
        size = 0
        for position, (key, offset, length, run) in enumerate(batches):
            heapq.heappush(held, (key, offset, self._read(spilled.read_at(length, offset), run)))
            # Rows below the first key of the next unread batch are final: no later batch has smaller keys.
            limit = batches[position + 1].key if position + 1 < len(batches) else None
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
        schema, constants = self._runs[run]
        batch = pa.ipc.read_record_batch(pa.py_buffer(message), schema)
        columns = [
            pa.repeat(constants[name], len(batch)) if name in constants else batch[name]
            for name in self._schema.names
        ]
        return pa.record_batch(columns, schema=self._schema)

    def _below(self, batch: pa.RecordBatch, limit: Key) -> int:
        return bisect_left(range(len(batch)), limit, key=lambda row: _key(batch, self._keys, row))


def _key(batch: pa.RecordBatch | pa.Table, keys: Sequence[str], row: int) -> Key:
    """The sort key of a row: comparable, with null last."""
    return tuple((value is None, value) for value in (batch[key][row].as_py() for key in keys))
