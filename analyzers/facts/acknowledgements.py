"""Per acknowledged send that may have been overtaken: the first acknowledgement of a later offset."""

from __future__ import annotations

from pyspark.sql import DataFrame, Window
from pyspark.sql import functions as F

from analyzers.facts.columns import ACKED, LOG
from analyzers.load import History

BLOCK = 4
"""16 offsets are a block. Whole blocks are ruled out by two of their times, so that few sends have to be sorted."""


def acknowledgements(history: History) -> DataFrame:
    """One row per acknowledged send with an offset, of blocks of offsets where one may have been overtaken.

    Columns: process, op, offset, value, invoked, time (ns, of the acknowledgement), and of the send to a
    higher offset of the log that was acknowledged first of all those: overtaker (its offset) and
    overtaken (ns, its acknowledgement); null where there is none. Wherever ``overtaken <= invoked`` is
    true, these are exact; elsewhere they need not be.
    """
    # From the end of the log to its start: one order, and what lies above is what came before.
    above = Window.partitionBy(*LOG).orderBy(F.desc("offset")).rangeBetween(Window.unboundedPreceding, -1)
    sends = _sends(history)
    return (
        sends.join(_blocks(sends).hint("shuffle_hash"), [*LOG, "block"], "left_semi")
        .drop("block")
        .withColumn("overtaken", F.min("time").over(above))
        .withColumn("overtaker", F.min_by("offset", "time").over(above))
    )


def _sends(history: History) -> DataFrame:
    return history.records.where(f"{ACKED} and offset is not null").selectExpr(
        *LOG, "process", "op", "offset", "value", "invoked", "completed as time",
        f"shiftright(offset, {BLOCK}) as block",
    )  # fmt: skip


def _blocks(sends: DataFrame) -> DataFrame:
    """The blocks with a send that began at or after an acknowledgement in the same block or in a later one, and those
    of the first acknowledgements there, by which the sends were overtaken. Blocks may come twice."""
    blocks = sends.groupBy(*LOG, "block").agg(F.min("time").alias("first"), F.max("invoked").alias("last"))
    onwards = Window.partitionBy(*LOG).orderBy(F.desc("block")).rowsBetween(Window.unboundedPreceding, -1)
    met = "if(first is null, null, struct(first as at, block))"
    return (
        blocks.withColumn("met", F.expr(met))
        .withColumn("later", F.min("met").over(onwards))
        .where("first <= last or later.at <= last")
        .selectExpr(*LOG, "explode(array(block, coalesce(later.block, block))) as block")
    )
