"""The rows around a finding about one topic-partition: its values, its offsets, its readers and its leaders.

Every query filters first, and returns an excerpt where there may be many rows.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass

from pyspark.sql import DataFrame, Row, Window
from pyspark.sql import functions as F

from analyzers.explain.evidence.excerpt import MAX_ROWS, Excerpt, first_rows
from analyzers.facts.fact import ACKED, TIME
from analyzers.history.load import History

IS_SHOWN = "f in ('read', 'final-read', 'deletion')"


@dataclass(frozen=True, kw_only=True)
class Log:
    """A topic-partition."""

    topic: str
    partition: int

    def rows(self, table: DataFrame) -> DataFrame:
        return table.where((F.col("topic") == self.topic) & (F.col("partition") == self.partition))

    def __str__(self) -> str:
        return f"{self.topic}-{self.partition}"


def sends(history: History, values: Collection[int]) -> Excerpt:
    """The sends of these values."""
    rows = history.records.where(F.col("value").isin(*values) & (F.col("f") == "send"))
    rows = rows.select(
        "invoked", "value", "op", "process", "topic", "partition", "type", "completed", "offset", "error",
        "transaction",
    )  # fmt: skip
    return first_rows(rows, ["invoked", "value", "op", "process"])


def polls(history: History, values: Collection[int]) -> Excerpt:
    """The polls of these values, one row per reader and place.

    Columns: time (of the first such poll, ns), value, process, session, topic, partition, offset, leader_epoch, type,
    final, times (the number of such polls).
    """
    rows = history.records.where(F.col("value").isin(*values) & (F.col("f") == "poll"))
    key = ["value", "process", "session", "topic", "partition", "offset", "leader_epoch", "type", "final"]
    return first_rows(
        rows.groupBy(*key).agg(F.expr(f"min({TIME})").alias("time"), F.count("*").alias("times")),
        ["time", "process", "offset", "value", "type"],
    )


def slots(history: History, log: Log, offsets: Sequence[int], around: int) -> tuple[Row, ...]:
    """One row per offset near `offsets` and value seen there.

    Columns: offset, value, problem (of the polled payload), acked (the process that it was acknowledged to), readers
    (the number of processes), epoch, in_final (whether a final read got it), first_read (ns).
    """
    near = _near(log.rows(history.records), offsets, around).where(f"({ACKED}) or f = 'poll'")
    rows = near.withColumn("problem", F.expr("if(f = 'poll', error, null)"))
    rows = rows.groupBy("offset", "value", "problem").agg(
        F.expr(f"min(process) filter (where {ACKED})").alias("acked"),
        F.expr("count(distinct process) filter (where f = 'poll')").alias("readers"),
        F.expr("bool_or(f = 'poll' and final)").alias("in_final"),
        F.expr("min(leader_epoch)").alias("epoch"),
        F.expr(f"min({TIME}) filter (where f = 'poll')").alias("first_read"),
    )
    return first_rows(rows, ["offset", "value", "problem"], limit=MAX_ROWS * 2).rows


def readers(history: History, log: Log, offsets: Sequence[int], around: int) -> Excerpt:
    """The readers of records near `offsets`.

    Columns: process, session, assignment, final, time (of the first such poll, ns), seen: structs of offset and
    value, in the order in which the reader got them."""
    near = _near(log.rows(history.records.where("f = 'poll'")), offsets, around)
    # A reader may poll the same offset many times: take the first time only, so that few rows remain.
    once = near.groupBy("process", "session", "assignment", "final", "offset", "value").agg(
        F.expr(f"min(struct({TIME} as time, index))").alias("first")
    )
    return first_rows(
        once.groupBy("process", "session", "assignment", "final").agg(
            F.expr("min(first.time)").alias("time"),
            F.expr("sort_array(collect_list(struct(first.index as i, offset, value)))").alias("seen"),
        ),
        ["time", "process", "assignment"],
    )


def operations(history: History, log: Log, ops: Collection[int]) -> Excerpt:
    """The final reads of the log, the deletions of its records, and the session reads among `ops`."""
    rows = log.rows(history.operations).where(IS_SHOWN)
    wanted = rows.where((F.col("f") != "read") | F.col("op").isin(*ops))
    return first_rows(wanted, ["invoked", "op", "process"])


def changes(history: History, log: Log, began: int, ended: int) -> Excerpt:
    """Changes of leadership and ISR as sampled at the leaders, from the last change before `began` (ns) to `ended`.

    Columns: time (ns), node, leader, leader_epoch, isr, high_watermark, log_end.
    """
    own = log.rows(history.observations).where("kind = 'partition' and leader = node")
    view = "struct(leader, leader_epoch, array_sort(isr) as isr)"
    by_time = Window.partitionBy("node").orderBy("time")
    changed = (
        own.withColumn("view", F.expr(view))
        .withColumn("before", F.lag("view").over(by_time))
        .where("before is null or view <> before")
        .where(F.col("time") <= ended)
        .withColumn("next", F.lead("time").over(by_time))
        .where(F.col("time").between(began, ended) | (F.col("next") > began) | F.col("next").isNull())
    )
    columns = ["time", "node", "leader", "leader_epoch", "isr", "high_watermark", "log_end"]
    return first_rows(changed.select(*columns), ["time", "node"])


def leaders(history: History, log: Log, at: int) -> tuple[Row, ...]:
    """The brokers whose last sample at or before `at` (ns) names them as leader; the newest epoch first."""
    own = log.rows(history.observations).where("kind = 'partition'").where(F.col("time") <= at)
    last = own.groupBy("node").agg(
        F.expr("max_by(struct(leader, leader_epoch, isr, high_watermark, log_end), time)").alias("sample"),
        F.max("time").alias("time"),
    )
    rows = last.where("sample.leader = node").selectExpr("node", "time", "sample.*").collect()
    return tuple(sorted(rows, key=lambda row: (-(row.leader_epoch or 0), row.node)))


def _near(rows: DataFrame, offsets: Sequence[int], around: int) -> DataFrame:
    near = F.lit(False)
    for offset in offsets:
        near = near | F.col("offset").between(offset - around, offset + around)
    return rows.where(near)
