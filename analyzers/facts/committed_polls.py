"""Per poll of committed records: the last stable offsets that were reported later."""

from __future__ import annotations

from pyspark.sql import DataFrame, Window
from pyspark.sql import functions as F

from analyzers.facts.columns import LOG, SERVED
from analyzers.facts.fact import fact
from analyzers.history.load import History


@fact(needs="txn")
def committed_polls(history: History) -> DataFrame:
    """One row per poll and log with read_committed that returned records and completed.

    Columns: process, op, offset (the highest returned), value (at it), time (ns, when its
    last response had arrived), and last_stable: the lowest one that the leader returned to a request sent later; null
    for none. The
    definition of read-above-lso says which answers count.
    """
    polls = (
        history.records.where("f = 'poll' and coalesce(committed, false) and offset is not null")
        .where("completed is not null")
        .groupBy(*LOG, "process", "op")
        .agg(F.expr("max(struct(offset, value))").alias("top"), F.expr(f"max({SERVED})").alias("at"))
        .selectExpr(*LOG, "process", "op", "top.offset as offset", "top.value as value", "at")
    )
    log = Window.partitionBy(*LOG)
    answers = (
        history.observations.where("kind = 'partition'")
        .withColumn("latest", F.max("leader_epoch").over(log))
        .where("node = leader and leader_epoch = latest")
        .withColumn("least_end", F.min("log_end").over(log))
        .where("last_stable is not null and high_watermark >= least_end")
        .selectExpr(*LOG, "asked as at", "last_stable")
        .where("at is not null")
    )
    # A request sent in the same nanosecond as the completion is not ordered after it.
    later = Window.partitionBy(*LOG).orderBy(F.desc("at")).rangeBetween(Window.unboundedPreceding, -1)
    return (
        polls.unionByName(answers, allowMissingColumns=True)
        .withColumn("last_stable", F.min("last_stable").over(later))
        .where("op is not null")
        .withColumnRenamed("at", "time")
    )
