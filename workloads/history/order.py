"""The offset before each record's, so that order checks need no shuffle."""

from __future__ import annotations

import pyarrow as pa
import pyarrow.compute as pc

GROUP = ("topic", "partition", "process", "f", "assignment", "generation")
"""Whose order is told. A generation is never taken up again, so that sorting by the others and ``index`` does."""


def with_previous(records: pa.Table) -> pa.Table:
    """Fill ``previous`` and ``within`` of records sorted by `GROUP` (but generation) and ``index``.

    `previous` is the offset of the last row before in the same group that has one: of polls any row, of
    sends an acknowledged one. Null for the first. `within` tells whether that row is of the same
    operation, which of sends is the transaction.
    """
    records = records.combine_chunks()
    if not records.num_rows:
        return records
    group = _groups(records)
    rows = pa.array(range(records.num_rows), pa.int64())
    polled = pc.equal(records["f"], "poll")
    counts = pc.and_(pc.or_(polled, pc.equal(records["type"], "ok")), pc.is_valid(records["offset"]))
    last = pc.fill_null_forward(_shifted(pc.if_else(counts, rows, None)))
    same = pc.fill_null(pc.equal(pc.take(group, last), group), False)
    operation = pc.if_else(polled, records["op"], records["transaction"])
    within = pc.fill_null(pc.equal(pc.take(operation, last), operation), False)
    previous = pc.take(records["offset"], last)
    for name, column in (("previous", previous), ("within", within)):
        position = records.schema.get_field_index(name)
        filled = pc.if_else(same, column, None)
        records = records.set_column(position, records.schema.field(name), filled)
    return records


def _groups(records: pa.Table) -> pa.Array:
    """A number for each run of rows with the same group."""
    begins = None
    for name in GROUP:
        column = _flat(records[name])
        before = _shifted(column)
        nulls = pc.and_(pc.is_null(column), pc.is_null(before))
        other = pc.fill_null(pc.not_equal(column, before), pc.invert(nulls))
        begins = other if begins is None else pc.or_(begins, other)
    return pc.cumulative_sum(pc.cast(begins, pa.int64()))


def _shifted(column: pa.Array | pa.ChunkedArray) -> pa.Array:
    """Each row gets the value of the row before."""
    flat = _flat(column)
    return pa.concat_arrays([pa.nulls(1, flat.type), flat[:-1]])


def _flat(column: pa.Array | pa.ChunkedArray) -> pa.Array:
    if not isinstance(column, pa.ChunkedArray):
        return column
    flat = column.combine_chunks()
    return pa.concat_arrays(flat.chunks) if isinstance(flat, pa.ChunkedArray) else flat
