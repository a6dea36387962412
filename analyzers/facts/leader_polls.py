"""Per poll that a leader served: the high watermarks that it reported later in the same epoch."""

from __future__ import annotations

from pyspark.sql import DataFrame, Window
from pyspark.sql import functions as F

from analyzers.facts.columns import LOG, SERVED
from analyzers.facts.fact import SAMPLES, fact
from analyzers.facts.leading import answers_of_leaders
from analyzers.history.load import History


@fact(needs=SAMPLES)
def leader_polls(history: History) -> DataFrame:
    """One row per poll and log, of each broker and each leader epoch of the records that it served.

    Columns: process, op, node, leader_epoch, offset (the highest returned), value (at it), time (ns, when its
    last response had arrived), and watermark: the lowest high watermark that the broker, as the leader in that epoch,
    returned to a request sent later; null for none. The definition of read-above-watermark says which answers count.
    """
    polls = (
        history.records.where("f = 'poll' and offset is not null and node is not null")
        .groupBy(*LOG, "node", "leader_epoch", "process", "op")
        .agg(F.expr("max(struct(offset, value))").alias("top"), F.expr(f"max({SERVED})").alias("at"))
        .selectExpr(
            *LOG, "node", "leader_epoch", "process", "op", "top.offset as offset", "top.value as value", "at"
        )
    )
    answers = (
        answers_of_leaders(history)
        .selectExpr(*LOG, "node", "leader_epoch", "asked as at", "high_watermark")
        .where("at is not null and high_watermark is not null")
    )
    # A request sent in the same nanosecond as the response arrived is not ordered after it.
    later = (
        Window.partitionBy(*LOG, "node", "leader_epoch")
        .orderBy(F.desc("at"))
        .rangeBetween(Window.unboundedPreceding, -1)
    )
    return (
        polls.unionByName(answers, allowMissingColumns=True)
        .withColumn("watermark", F.min("high_watermark").over(later))
        .where("op is not null")
        .withColumnRenamed("at", "time")
        .drop("high_watermark")
    )
