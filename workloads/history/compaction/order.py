"""Fills in the offset of the record before each record, so that order checks need no shuffle."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import pyarrow as pa
import pyarrow.compute as pc

from workloads.history.compaction.sorting import flat

GROUP = ("topic", "partition", "process", "f", "assignment", "generation")
"""Records with equal values here have an order. A process never returns to an earlier generation, so it is enough to
sort by the other columns and ``index``."""


def with_previous(tables: Iterable[pa.Table]) -> Iterator[pa.Table]:
    """Fill ``previous`` and ``within`` of records sorted by `GROUP` (without generation) and ``index``.

    `previous` is the offset of the closest earlier row of the same group that counts: any row of a poll, and
    acknowledged sends. Null for the first one. `within` says whether that row belongs to the same operation; for
    sends, to the same transaction. The result does not depend on how the rows are cut into tables.
    """
    last: pa.Table | None = None  # the latest row that counts, of any group
    for table in tables:
        rows = table if last is None else pa.concat_tables([last, table])
        rows, counts = _filled(rows.combine_chunks())
        yield rows if last is None else rows.slice(1)
        if (position := pc.max(counts).as_py()) is not None:
            # Copied, because a slice would keep the memory of the whole table.
            last = rows.take([position])


def _filled(records: pa.Table) -> tuple[pa.Table, pa.Array]:
    """The records with ``previous`` and ``within``, and the row number of each row that counts (null for others)."""
    rows = pc.subtract(pc.cumulative_sum(pa.repeat(pa.scalar(1, pa.int64()), len(records))), 1)
    group = _groups(records)
    polled = pc.equal(records["f"], "poll")
    is_counted = pc.and_(pc.or_(polled, pc.equal(records["type"], "ok")), pc.is_valid(records["offset"]))
    counts = pc.if_else(flat(is_counted), rows, pa.NA)
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
    """A number for each stretch of consecutive rows of one group."""
    begins = None
    for name in GROUP:
        column = flat(records[name])
        before = _shifted(column)
        nulls = pc.and_(pc.is_null(column), pc.is_null(before))
        other = pc.fill_null(pc.not_equal(column, before), pc.invert(nulls))
        begins = other if begins is None else pc.or_(begins, other)
    return pc.cumulative_sum(pc.cast(begins, pa.int64()))


def _shifted(column: pa.Array) -> pa.Array:
    """The column moved by one row: each row has the value of the row before it."""
    return pa.concat_arrays([pa.nulls(1, column.type), column[:-1]])[: len(column)]
