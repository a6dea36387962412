"""The offset before each record's, so that order checks need no shuffle."""

from __future__ import annotations

import pyarrow as pa
import pyarrow.compute as pc

GROUP = ("topic", "partition", "process", "f", "assignment")


def with_previous(records: pa.Table) -> pa.Table:
    """Fill ``previous`` of records sorted by `GROUP` and ``index``.

    It is the offset of the last row before in the same group that has one: of polls any row, of sends
    an acknowledged one. Null for the first.
    """
    records = records.combine_chunks()
    if not records.num_rows:
        return records
    group = _groups(records)
    rows = pa.array(range(records.num_rows), pa.int64())
    counts = pc.and_(
        pc.or_(pc.equal(records["f"], "poll"), pc.equal(records["type"], "ok")),
        pc.is_valid(records["offset"]),
    )
    last = pc.fill_null_forward(_shifted(pc.if_else(counts, rows, None)))
    same = pc.equal(pc.take(group, last), group)
    previous = pc.if_else(pc.fill_null(same, False), pc.take(records["offset"], last), None)
    position = records.schema.get_field_index("previous")
    return records.set_column(position, records.schema.field("previous"), previous)


def _groups(records: pa.Table) -> pa.Array:
    """A number for each run of rows with the same group."""
    begins = None
    for name in GROUP:
        column = _flat(records[name])
        other = pc.fill_null(pc.not_equal(column, _shifted(column)), True)
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
