"""Sorts a table in memory, by packing all sort keys into one number per row."""

from __future__ import annotations

from collections.abc import Callable, Sequence

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
