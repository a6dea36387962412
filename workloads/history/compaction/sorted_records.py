"""What compaction does with sorted records: it joins the two rows of each send, and notes what was before each.

Of a send its completion remains, or its invocation as ``info`` if it never completed. With the offset of the record
before, order checks need no shuffle.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

import pyarrow as pa
import pyarrow.compute as pc

from workloads.history.compaction.sorting import flat


def not_completed(column: Callable[[str], pa.Array]) -> pa.Array:
    """True for the rows to keep: False for invocations that have a completion next to them.

    `column` returns columns of records that are sorted so that both rows of a send are neighbours. Any order that
    ends with ``index`` does that, because a completion has the index of its invocation.
    """
    invoked, op, f = pc.equal(column("type"), "invoke"), column("op"), column("f")
    if not len(op):
        return invoked
    # For each row and its successor: whether one completes the other.
    pair = pc.and_(pc.equal(op[:-1], op[1:]), pc.equal(f[:-1], f[1:]))
    pair = pc.and_(pair, pc.xor(invoked[:-1], invoked[1:]))
    no = pa.array([False])
    completed = pc.or_(pa.concat_arrays([pair, no]), pa.concat_arrays([no, pair]))
    return pc.invert(pc.and_(invoked, completed))


def joined(records: pa.Table) -> pa.Table:
    """Records without completed invocations. The other invocations become ``info``: sends of unknown outcome."""
    kept = not_completed(lambda name: flat(records[name]))
    rows = records if pc.all(kept).as_py() else records.filter(kept)
    invoked = pc.equal(rows["type"], "invoke")
    if not pc.any(invoked).as_py():
        return rows
    position = rows.schema.get_field_index("type")
    return rows.set_column(position, rows.schema.field("type"), pc.if_else(invoked, "info", rows["type"]))


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
