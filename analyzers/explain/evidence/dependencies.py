"""Why one transaction precedes another: the places in the logs that prove a dependency."""

from __future__ import annotations

from collections.abc import Collection

from pyspark.sql import DataFrame, Row, Window
from pyspark.sql import functions as F

from analyzers.facts.fact import TIME
from analyzers.history.load import History

Pairs = Collection[tuple[int, int]]
"""Pairs of transactions: the source, and the target that depends on it."""


def write_dependencies(history: History, pairs: Pairs) -> tuple[Row, ...]:
    """Places where a record of the target is the next known one after a record of the source; one per pair and log.

    Columns: source, target (transactions), topic, partition, offset, value (of the source's record), next_offset,
    next_value (of the target's).
    """
    logs = history.records.where("f = 'send'").where(F.col("transaction").isin(*_ops(pairs)))
    logs = logs.select("topic", "partition").distinct()
    placed = (
        history.records.join(F.broadcast(logs), ["topic", "partition"])
        .where("value is not null")
        .groupBy("topic", "partition", "value")
        .agg(
            F.expr("max(transaction) filter (where f = 'send')").alias("transaction"),
            F.expr("max(type) filter (where f = 'send')").alias("kind"),
            F.expr("max(offset) filter (where f = 'send')").alias("sent"),
            F.expr("min(offset) filter (where f = 'poll' and coalesce(committed, false))").alias("read"),
        )
        .where("transaction is not null and kind <> 'fail'")
        .withColumn("at", F.expr("coalesce(read, if(kind = 'ok', sent, null))"))
        .where("at is not null")
    )
    order = Window.partitionBy("topic", "partition").orderBy("at", "value")
    before = placed.withColumn(
        "before", F.lag(F.struct("transaction", F.col("at").alias("offset"), "value")).over(order)
    )
    rows = before.where(_is_pair(pairs, "before.transaction", "transaction")).selectExpr(
        "topic", "partition", "before.transaction as source", "transaction as target",
        "before.offset as offset", "before.value as value", "at as next_offset", "value as next_value",
    )  # fmt: skip
    return _first_per_pair_and_log(rows, "offset, value, next_offset, next_value")


def read_dependencies(history: History, pairs: Pairs) -> tuple[Row, ...]:
    """Places where the target polled, with read_committed, a record of the source; the first per pair and log.

    Columns: source, target (transactions), topic, partition, offset, value, time (of the poll, ns).
    """
    ours = history.records.where(F.col("transaction").isin(*_ops(pairs)))
    sent = ours.where("f = 'send'").selectExpr("topic", "partition", "value", "transaction as source")
    rows = (
        ours.where("f = 'poll' and coalesce(committed, false) and error is null")
        .selectExpr("topic", "partition", "value", "offset", "transaction as target", f"{TIME} as time")
        .join(sent, ["topic", "partition", "value"])
        .where(_is_pair(pairs, "source", "target"))
    )
    return _first_per_pair_and_log(rows, "time, offset, value")


def _first_per_pair_and_log(rows: DataFrame, columns: str) -> tuple[Row, ...]:
    key = ["source", "target", "topic", "partition"]
    firsts = rows.groupBy(*key).agg(F.expr(f"min(struct({columns}))").alias("place"))
    return tuple(sorted(firsts.select(*key, "place.*").collect(), key=lambda row: tuple(row)))


def _ops(pairs: Pairs) -> list[int]:
    return sorted({op for pair in pairs for op in pair})


def _is_pair(pairs: Pairs, source: str, target: str) -> str:
    return " or ".join(f"({source} = {a}L and {target} = {b}L)" for a, b in sorted(pairs))
