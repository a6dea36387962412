"""Per log: the offsets that readers of committed records passed."""

from __future__ import annotations

from pyspark.sql import DataFrame, Window
from pyspark.sql import functions as F

from analyzers.facts.columns import LOG
from analyzers.facts.readings import readings
from analyzers.history.load import History

FINAL = -1
"""The number of the reader that stands for all final reads together."""


def coverage(history: History) -> DataFrame:
    """One row per log. Columns: spans, an array of (reader, low, high), both ends inclusive.

    A span is the range of offsets, from the first to the last, that a process polled in one assignment and reading
    (see `analyzers.facts.readings`), or that one of its completed reads covered. Only processes count whose polls all
    have isolation.level=read_committed. Spans of a reader that overlap or touch are one, so a session that reads on
    has one span, however often it reads.
    """
    each = (
        readings(history)
        .groupBy(*LOG, "process", "assignment", "reading", "final")
        .agg(
            F.expr("min(low)").alias("low"),
            F.expr("max(high)").alias("high"),
            F.expr("every(committed)").alias("committed"),
        )
    )
    careful = (
        each.groupBy("run", "process").agg(F.expr("every(committed)").alias("committed")).where("committed")
    )
    reads = (
        history.operations.where("f in ('read', 'final-read') and type = 'ok' and start_offset < end_offset")
        .join(F.broadcast(careful), ["run", "process"], "left_semi")
        .selectExpr(
            *LOG,
            f"if(f = 'final-read', {FINAL}, process) as reader",
            "start_offset as low",
            "end_offset - 1 as high",
        )
    )
    polled = each.where("committed").selectExpr(*LOG, f"if(final, {FINAL}, process) as reader", "low", "high")
    return (
        _merged(polled.unionByName(reads))
        .groupBy(*LOG)
        .agg(F.expr("collect_list(struct(reader, low, high))").alias("spans"))
    )


def _merged(spans: DataFrame) -> DataFrame:
    line = Window.partitionBy(*LOG, "reader").orderBy("low", "high")
    before = line.rowsBetween(Window.unboundedPreceding, -1)
    return (
        spans.withColumn("reached", F.max("high").over(before))
        .withColumn("number", F.expr("count_if(low - 1 > reached)").over(line))
        .groupBy(*LOG, "reader", "number")
        .agg(F.min("low").alias("low"), F.max("high").alias("high"))
    )
