"""Around a finding: what the history holds about its values and its place in the log.

Every query filters first, so that what comes back does not grow with the history; what may be many all the
same is cut to the first `CAP`, after it was counted.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass

from pyspark.sql import DataFrame, Row, Window
from pyspark.sql import functions as F

from analyzers.facts.columns import ACKED, TIME
from analyzers.history.load import History

CAP = 20

FINDING_READS = "f in ('read', 'final-read')"


@dataclass(frozen=True, kw_only=True)
class Log:
    topic: str
    partition: int

    def rows(self, table: DataFrame) -> DataFrame:
        return table.where((F.col("topic") == self.topic) & (F.col("partition") == self.partition))

    def __str__(self) -> str:
        return f"{self.topic}-{self.partition}"


@dataclass(frozen=True, kw_only=True)
class Some:
    """The first rows, and how many there are."""

    rows: tuple[Row, ...] = ()
    total: int = 0

    @property
    def more(self) -> int:
        return self.total - len(self.rows)


def sends(history: History, values: Collection[int]) -> Some:
    """The sends of these values."""
    rows = history.records.where(F.col("value").isin(*values) & (F.col("f") == "send"))
    columns = [
        "invoked",
        "value",
        "op",
        "process",
        "topic",
        "partition",
        "type",
        "completed",
        "offset",
        "error",
        "transaction",
    ]
    return first(rows.select(*columns), ["invoked", "value", "op", "process"])


def polls(history: History, values: Collection[int]) -> Some:
    """Who read these values, where: columns time (of the first such poll, ns), value, process, session, topic,
    partition, offset, leader_epoch, type, final, times (how often)."""
    rows = history.records.where(F.col("value").isin(*values) & (F.col("f") == "poll"))
    key = ["value", "process", "session", "topic", "partition", "offset", "leader_epoch", "type", "final"]
    return first(
        rows.groupBy(*key).agg(F.expr(f"min({TIME})").alias("time"), F.count("*").alias("times")),
        ["time", "process", "offset", "value", "type"],
    )


def slots(history: History, log: Log, offsets: Sequence[int], around: int) -> tuple[Row, ...]:
    """Per offset nearby and value seen there: acked (to which process), readers, epoch, in_final, first_read (ns),
    and problem: what is wrong with the payload polled."""
    near = _near(log.rows(history.records), offsets, around).where(f"({ACKED}) or f = 'poll'")
    told = near.withColumn("problem", F.expr("if(f = 'poll', error, null)"))
    rows = told.groupBy("offset", "value", "problem").agg(
        F.expr(f"min(process) filter (where {ACKED})").alias("acked"),
        F.expr("count(distinct process) filter (where f = 'poll')").alias("readers"),
        F.expr("bool_or(f = 'poll' and final)").alias("in_final"),
        F.expr("min(leader_epoch)").alias("epoch"),
        F.expr(f"min({TIME}) filter (where f = 'poll')").alias("first_read"),
    )
    return first(rows, ["offset", "value", "problem"], cap=CAP * 2).rows


def readers(history: History, log: Log, offsets: Sequence[int], around: int) -> Some:
    """Who polled nearby: process, session, assignment, final, time (of the first, ns), seen: (offset, value)
    in the order in which they came."""
    near = _near(log.rows(history.records.where("f = 'poll'")), offsets, around)
    # A reader may read the same place again and again: of a record the first time, and few records.
    once = near.groupBy("process", "session", "assignment", "final", "offset", "value").agg(
        F.expr(f"min(struct({TIME} as time, index))").alias("first")
    )
    return first(
        once.groupBy("process", "session", "assignment", "final").agg(
            F.expr("min(first.time)").alias("time"),
            F.expr("sort_array(collect_list(struct(first.index as i, offset, value)))").alias("seen"),
        ),
        ["time", "process", "assignment"],
    )


def reads(history: History, log: Log, ops: Collection[int]) -> Some:
    """The final reads of the log, and the reads among `ops`."""
    rows = log.rows(history.operations).where(FINDING_READS)
    wanted = rows.where((F.col("f") == "final-read") | F.col("op").isin(*ops))
    return first(wanted, ["invoked", "op", "process"])


def changes(history: History, log: Log, began: int, ended: int) -> Some:
    """Leadership and ISR as the leaders themselves told it, from the last change before `began` (ns) on.

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
    return first(changed.select(*columns), ["time", "node"])


def leaders(history: History, log: Log, at: int) -> tuple[Row, ...]:
    """Brokers that in their last sample at or before `at` (ns) called themselves leader; the newest epoch first."""
    own = log.rows(history.observations).where("kind = 'partition'").where(F.col("time") <= at)
    last = own.groupBy("node").agg(
        F.expr("max_by(struct(leader, leader_epoch, isr, high_watermark, log_end), time)").alias("told"),
        F.max("time").alias("time"),
    )
    rows = last.where("told.leader = node").selectExpr("node", "time", "told.*").collect()
    return tuple(sorted(rows, key=lambda row: (-(row.leader_epoch or 0), row.node)))


def _near(rows: DataFrame, offsets: Sequence[int], around: int) -> DataFrame:
    near = F.lit(False)
    for offset in offsets:
        near = near | F.col("offset").between(offset - around, offset + around)
    return rows.where(near)


def first(rows: DataFrame, order: Sequence[str], *, cap: int = CAP) -> Some:
    """The first rows in this order (SQL), nulls last; the order has to tell all of them apart."""
    everything = Window.partitionBy(F.lit(1))
    ranked = rows.withColumn("total", F.count("*").over(everything)).withColumn(
        "rank", F.row_number().over(everything.orderBy(*(F.expr(each).asc_nulls_last() for each in order)))
    )
    found = sorted(ranked.where(F.col("rank") <= cap).collect(), key=lambda row: row["rank"])
    return Some(rows=tuple(found), total=found[0]["total"] if found else 0)


def nearest(rows: DataFrame, column: str, began: int, ended: int, order: Sequence[str]) -> Some:
    """The rows with the least time (ns, SQL) between `column` and the span, in order of time."""
    away = f"greatest({began}L - ({column}), ({column}) - {ended}L, 0L)"
    some = first(rows, [away, column, *order])
    return Some(
        rows=tuple(sorted(some.rows, key=lambda row: tuple(row[name] for name in order))), total=some.total
    )
