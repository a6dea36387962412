"""Per time that a log acknowledged nothing: how long it was waited for."""

from __future__ import annotations

from pyspark.sql import DataFrame, Window
from pyspark.sql import functions as F

from analyzers.facts.columns import ACKED, LOG, TIME
from analyzers.load import History

GRAIN = 100_000_000
"""ns. Sends are counted together by the tenth of a second, so that nothing but such counts is shuffled."""


def waits(history: History) -> DataFrame:
    """One row per wait that took longer than a moment. Columns: began, lasted (ns).

    A wait ends with an acknowledgement, the last one of a log with its last send; it begins with the
    acknowledgement before, or the first invocation of the sends that ended in it if that came later.
    """
    grains = (
        history.records.where("f = 'send'")
        .groupBy(*LOG, F.expr(f"{TIME} div {GRAIN} as grain"))
        .agg(
            F.expr(f"min(completed) filter (where {ACKED})").alias("first_ack"),
            F.expr(f"max(completed) filter (where {ACKED})").alias("last_ack"),
            F.min("invoked").alias("asked"),
            F.expr(f"max({TIME})").alias("last"),
        )
    )
    before = Window.partitionBy(*LOG).orderBy("grain").rowsBetween(Window.unboundedPreceding, -1)
    return (
        grains.withColumn("number", F.count("first_ack").over(before))
        .withColumn("before", F.max("last_ack").over(before))
        .groupBy(*LOG, "number")
        .agg(
            F.expr("greatest(max(before), min(asked))").alias("began"),
            F.expr("coalesce(min(first_ack), max(last))").alias("ended"),
        )
        .where("began < ended")
        .selectExpr(*LOG, "began", "ended - began as lasted")
    )
