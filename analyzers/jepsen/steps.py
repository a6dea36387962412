"""Steps from one record of a key to the next, within an operation and between operations of a process."""

from __future__ import annotations

from pyspark.sql import DataFrame, Window
from pyspark.sql import functions as F

from analyzers.jepsen.hits import Error
from analyzers.jepsen.tables import Tables

COUNTS = "(call = 'poll' and type = 'ok') or (call = 'send' and type in ('ok', 'info'))"
"""Operations that move the position of the process to their last record. Others do not move it."""


INSIDE = "key, array(within.value, value) as values, delta, pos as op"
OUTSIDE = "key, array(last.value, value) as values, delta, array(last.pos, pos) as ops"
SKIPPED = ", coalesce(within.place, last.place) as `from`, place as `to`"
"""The skipped values are looked up later, only for the errors that are listed."""

POLL, SEND = "call = 'poll'", "call = 'send'"
WITHIN = "within is not null"
ACROSS = "within is null"

STEPS = (
    Error(
        type="int-poll-skip",
        where=f"{POLL} and {WITHIN} and not rebalanced and delta > 1",
        entry=INSIDE + SKIPPED,
        first="pos",
    ),
    Error(
        type="int-nonmonotonic-poll",
        where=f"{POLL} and {WITHIN} and not rebalanced and delta < 1",
        entry=INSIDE,
        first="pos",
    ),
    Error(
        type="int-send-skip", where=f"{SEND} and {WITHIN} and delta > 1", entry=INSIDE + SKIPPED, first="pos"
    ),
    Error(
        type="int-nonmonotonic-send", where=f"{SEND} and {WITHIN} and delta < 1", entry=INSIDE, first="pos"
    ),
    Error(
        type="poll-skip",
        where=f"{POLL} and {ACROSS} and delta > 1",
        entry=OUTSIDE.replace(" array(last.value, value) as values,", "") + SKIPPED,
        first="pos",
    ),
    Error(type="nonmonotonic-poll", where=f"{POLL} and {ACROSS} and delta < 1", entry=OUTSIDE, first="pos"),
    Error(
        type="nonmonotonic-send",
        where=f"{SEND} and {ACROSS} and type in ('ok', 'info') and delta < 1",
        entry=OUTSIDE,
        first="pos",
    ),
)


def steps(tables: Tables) -> DataFrame:
    """Steps other than one place forward, with `delta`. An unknown place counts as the next one."""
    return (
        _rows(tables)
        .withColumn("delta", F.expr("place - if(within is null, last.place, within.place)"))
        .where("delta != 1")
    )


def _rows(tables: Tables) -> DataFrame:
    """Per record: within (the previous record of the key in its operation) and last (the last record of the key in
    the last operation of the process that counts; not across an assign or subscribe without the key)."""
    record = "pos, value is not null as real, seq, place, value"
    rows = _since_resets(tables).where("call in ('poll', 'send')")
    moves = ["run", "process", "key", "call"]
    # A poll may name a key first without and later with records; then only the records count.
    one = Window.partitionBy(*moves).orderBy("pos", "real", "seq")
    before = Window.partitionBy(*moves, "epoch").orderBy("pos").rangeBetween(Window.unboundedPreceding, -1)
    return (
        rows.withColumn("real", F.expr("value is not null"))
        .withColumn("within", F.lag(F.struct("pos", "place", "value")).over(one))
        .withColumn("within", F.expr("if(within.pos = pos and within.value is not null, within, null)"))
        .withColumn("last", F.expr(f"if({COUNTS}, struct({record}), null)"))
        .withColumn("last", F.max("last").over(before))
        .where("real")
    )


def _since_resets(tables: Tables) -> DataFrame:
    """The records, with epoch: the number of earlier assigns and subscribes without the key.

    It is the number of all resets of the process minus those with the key, so that resets need no row for every key.
    """
    columns = ["run", "process", "pos", "call", "key", "type", "seq", "place", "value", "rebalanced"]
    resets = tables.operations.where("f in ('assign', 'subscribe') and type in ('ok', 'info')")
    rows = tables.records.selectExpr(*columns, "cast(null as array<string>) as keys", "false as resets")
    marks = resets.selectExpr("run", "process", "pos", "keys", "true as resets")
    everything = rows.unionByName(marks, allowMissingColumns=True)
    process = Window.partitionBy("run", "process").orderBy("pos")
    one_key = Window.partitionBy("run", "process", "key", "side").orderBy("pos")
    spread = everything.withColumn("resetting", F.sum(F.expr("int(resets)")).over(process)).selectExpr(
        *(column for column in columns if column != "key"),
        "resets",
        "resetting",
        "explode(if(resets, array_distinct(keys), array(key))) as key",
    )
    sides = spread.withColumn("side", F.expr("explode(if(resets, array('poll', 'send'), array(call)))"))
    return sides.withColumn("epoch", F.expr("resetting") - F.sum(F.expr("int(resets)")).over(one_key))
