"""Joins the two rows of each send: its completion remains, or its invocation as ``info`` if it never completed."""

from __future__ import annotations

from collections.abc import Callable

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
