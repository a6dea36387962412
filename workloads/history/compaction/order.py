"""The offset before each record's, so that order checks need no shuffle."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import pyarrow as pa
import pyarrow.compute as pc

from workloads.history.compaction.sorting import flat

GROUP = ("topic", "partition", "process", "f", "assignment", "generation")
"""Whose order is told. A generation is never taken up again, so that sorting by the others and ``index`` does."""


def with_previous(tables: Iterable[pa.Table]) -> Iterator[pa.Table]:
    """Fill ``previous`` and ``within`` of records sorted by `GROUP` (but generation) and ``index``, wherever they are
    cut into tables.

    `previous` is the offset of the last row before in the same group that has one: of polls any row, of
    sends an acknowledged one. Null for the first. `within` tells whether that row is of the same
    operation, which of sends is the transaction.
    """
    last: pa.Table | None = None  # the latest row that counts, of whatever group
    for table in tables:
        rows = table if last is None else pa.concat_tables([last, table])
        rows, counts = _filled(rows.combine_chunks())
        yield rows if last is None else rows.slice(1)
        if (place := pc.max(counts).as_py()) is not None:
            # A copy: a slice would keep all rows of the table in memory.
            last = rows.take([place])


def _filled(records: pa.Table) -> tuple[pa.Table, pa.Array]:
    """With ``previous``; and the row number of each row that counts, null of others."""
    rows = pc.subtract(pc.cumulative_sum(pa.repeat(pa.scalar(1, pa.int64()), len(records))), 1)
    group = _groups(records)
    polled = pc.equal(records["f"], "poll")
    matters = pc.and_(pc.or_(polled, pc.equal(records["type"], "ok")), pc.is_valid(records["offset"]))
    counts = pc.if_else(flat(matters), rows, pa.NA)
    last = pc.fill_null_forward(_shifted(counts))
    same = pc.fill_null(pc.equal(pc.take(group, last), group), False)
    operation = flat(pc.if_else(polled, records["op"], records["transaction"]))
    within = pc.fill_null(pc.equal(pc.take(operation, last), operation), False)
    previous = pc.take(flat(records["offset"]), last)
    for name, column in (("previous", previous), ("within", within)):
        position = records.schema.get_field_index(name)
        records = records.set_column(position, records.schema.field(name), pc.if_else(same, column, pa.NA))
    return records, counts


def _groups(records: pa.Table) -> pa.Array:
    """A number for each run of rows with the same group."""
    begins = None
    for name in GROUP:
        column = flat(records[name])
        before = _shifted(column)
        nulls = pc.and_(pc.is_null(column), pc.is_null(before))
        other = pc.fill_null(pc.not_equal(column, before), pc.invert(nulls))
        begins = other if begins is None else pc.or_(begins, other)
    return pc.cumulative_sum(pc.cast(begins, pa.int64()))


def _shifted(column: pa.Array) -> pa.Array:
    """Each row gets the value of the row before."""
    return pa.concat_arrays([pa.nulls(1, column.type), column[:-1]])[: len(column)]
