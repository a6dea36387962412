"""At which offsets polls returned records: 64 of them in one number."""

from __future__ import annotations

from pyspark.sql import DataFrame, Window
from pyspark.sql import functions as F

from analyzers.facts.columns import LOG
from analyzers.facts.gaps import BLOCK, highest
from analyzers.history.load import History


def poll_bits(history: History) -> DataFrame:
    """One row per block of 64 offsets of a log of which a poll returned a record. Several facts read it, so it is
    computed once.

    Columns: those of `LOG`, block, bits. May also have rows of runs that are not in this part of a history.
    """
    return history.shared_rows("poll_bits", _poll_bits)


def _poll_bits(history: History) -> DataFrame:
    return (
        history.records.where("f = 'poll' and offset is not null")
        .groupBy(*LOG, F.expr(f"shiftright(offset, {BLOCK}) as block"))
        .agg(F.expr(f"bit_or(shiftleft(1L, {_place('offset')})) as bits"))
    )


def last_polled(history: History, ranges: DataFrame) -> DataFrame:
    """The ranges of offsets in which some poll returned a record: columns of `LOG`, low, high.

    ranges: the same columns. The result ends each at the highest offset of such a record.
    """
    asked = ranges.selectExpr(*LOG, f"shiftright(high, {BLOCK}) as block", "low", "high")
    known = poll_bits(history).withColumn("top", F.expr(highest("bits")))
    earlier = Window.partitionBy(*LOG).orderBy("block").rangeBetween(Window.unboundedPreceding, -1)
    here = f"(bits & ~shiftleft(-2L, {_place('high')}))"
    return (
        asked.unionByName(known, allowMissingColumns=True)
        .withColumn("bits", F.max("bits").over(Window.partitionBy(*LOG, "block")))
        .withColumn("before", F.max("top").over(earlier))
        .where("high is not null")
        .withColumn("last", F.expr(f"coalesce(if(bits is null, null, {highest(here)}), before)"))
        .where("last >= low")
        .selectExpr(*LOG, "low", "last as high")
    )


def _place(offset: str) -> str:
    """SQL: the bit of an offset in its block."""
    return f"cast({offset} & {(1 << BLOCK) - 1} as int)"
