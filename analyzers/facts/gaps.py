"""Per step that leaves out offsets: whether a record was there."""

from __future__ import annotations

from pyspark.sql import DataFrame, Window
from pyspark.sql import functions as F

from analyzers.facts.columns import ACKED, LOG, POLLED
from analyzers.facts.compaction import without_compacted
from analyzers.facts.fact import fact
from analyzers.facts.removals import removed_beginnings
from analyzers.facts.steps import log_steps
from analyzers.history.load import History

BLOCK = 6
"""A block is 64 offsets. The bits of one number show which of them hold records."""

PLACE = f"cast(offset & {(1 << BLOCK) - 1} as int)"
KNOWN = {"known": "true", "polled": "f = 'poll'"}
"""By the step that leaves it out. A send: any known record. A poll without isolation: one that some poll got."""

COMMITTED = {"committed": "f = 'poll' and committed"}
"""A poll of committed records: one that another such poll got."""


@fact()
def gaps(history: History) -> DataFrame:
    """One row per poll that is not of the offset after the one before it, and per such send within a transaction.

    Columns: those of `steps`, and below: the highest offset under this one at which a record is known.
    For polls, that is one that any poll returned; with ``committed``, one that any such poll returned, or any poll if
    the record was acknowledged there. For sends, it is one that was polled or
    acknowledged. The step left out a record if and only if ``below > previous``, so the offsets of a gap need not
    be enumerated. Compacted topics are left out, and so are polled records that may have been removed from the
    beginning of the log: the reader goes on at the log start, also within an operation that joins several fetches.
    """
    steps = log_steps(history).where("offset > previous + 1 and (f = 'poll' or within)")
    # Compaction may have removed what another reader got earlier.
    left_out = without_compacted(steps, history)
    isolated = "when committed then {0}committed{1} " if history.has_isolation else ""
    seen = f"case when f = 'send' then {{0}}known{{1}} {isolated}else {{0}}polled{{1}} end"
    return (
        left_out.withColumn("block", F.expr(f"shiftright(offset, {BLOCK})"))
        .join(_blocks(history), [*LOG, "block"], "left")
        .withColumn("here", F.expr(f"({seen.format('bits_', '')}) & ~shiftleft(-1L, {PLACE})"))
        .withColumn("below", F.expr(f"coalesce({highest('here')}, {seen.format('', '_before')})"))
        .join(F.broadcast(removed_beginnings(history)), LOG, "left")
        .withColumn("below", F.expr("if(f = 'poll' and below < removed_to, null, below)"))
        .select(*left_out.columns, "below")
    )


def _blocks(history: History) -> DataFrame:
    """Per block of a log with a record: its bits, and the highest offset with a record in the blocks before."""
    records = history.records.where(f"offset is not null and (f = 'poll' or ({ACKED}))")
    which = KNOWN | COMMITTED if history.has_isolation else KNOWN
    bits = [
        F.expr(f"coalesce(bit_or(shiftleft(1L, {PLACE})) filter (where {where}), 0L) as bits_{name}")
        for name, where in which.items()
    ]
    blocks = records.groupBy(*LOG, F.expr(f"shiftright(offset, {BLOCK}) as block")).agg(*bits)
    if history.has_isolation:
        # Joined block by block: a union with the records would shuffle all of them, where they lie in buckets.
        blocks = (
            blocks.join(_acknowledged_blocks(history), [*LOG, "block"], "left")
            .withColumn("bits_committed", F.expr("bits_committed | coalesce(bits_acknowledged, 0L)"))
            .drop("bits_acknowledged")
        )
    before = Window.partitionBy(*LOG).orderBy("block").rowsBetween(Window.unboundedPreceding, -1)
    for name in which:
        top = F.expr(highest(f"bits_{name}"))
        blocks = blocks.withColumn(f"{name}_before", F.max(top).over(before))
    return blocks


def _acknowledged_blocks(history: History) -> DataFrame:
    """Per block of a log: the bits of the records that readers of committed records get as well.

    They were acknowledged, in a transaction with its commit, at the offset at which some other reader found them.
    They count like polls of committed records. Only logs with such readers are examined.
    """
    careful = history.records.where("f = 'poll' and committed").select(*LOG).distinct()
    polled = f"({POLLED} and not coalesce(committed, false))"
    return (
        history.records.where(f"offset is not null and value is not null and (({ACKED}) or {polled})")
        .join(F.broadcast(careful), LOG, "left_semi")
        .groupBy(*LOG, "offset", "value")
        .agg(F.expr("bool_or(f = 'send') and bool_or(f = 'poll') as both"))
        .where("both")
        .groupBy(*LOG, F.expr(f"shiftright(offset, {BLOCK}) as block"))
        .agg(F.expr(f"bit_or(shiftleft(1L, {PLACE})) as bits_acknowledged"))
    )


def highest(bits: str) -> str:
    """SQL: the offset of the highest bit set in this block; null for none."""
    return f"if({bits} = 0, null, shiftleft(block, {BLOCK}) + length(bin({bits})) - 1)"
