"""Around a finding of transactions: what they were, what they wrote and read, and who else had their id."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from pyspark.sql import Row, Window
from pyspark.sql import functions as F

from analyzers.explain.evidence.log import CAP, Log, Some, first, nearest
from analyzers.facts.columns import TIME
from analyzers.history.load import History

NAMED = [
    "op", "process", "type", "invoked", "completed",
    "get_json_object(value, '$.transactional_id') as name",
    "cast(get_json_object(value, '$.epoch') as bigint) as epoch",
]  # fmt: skip

FEW = 5
"""Readers of one record that are named."""


def transactions(history: History, ops: Collection[int]) -> tuple[Row, ...]:
    """Of these operations: op, process, type, invoked, completed (ns), name, epoch, outcome, ending (ns)."""
    rows = history.operations.where("f = 'txn'").where(F.col("op").isin(*ops))
    found = rows.selectExpr(
        *NAMED,
        "get_json_object(value, '$.outcome') as outcome",
        "cast(get_json_object(value, '$.ending') as bigint) as ending",
    ).collect()
    return tuple(sorted(found, key=lambda row: (row.invoked, row.op)))


def inits(history: History, names: Collection[str], at: int) -> Some:
    """Claims of these transactional ids, those next to a moment (ns): op, process, type, invoked, completed, name,
    epoch."""
    rows = history.operations.where("f = 'init'").selectExpr(*NAMED).where(F.col("name").isin(*names))
    return nearest(rows, "coalesce(completed, invoked)", at, at, ["invoked", "process", "op"])


def steps(history: History, ops: Collection[int]) -> dict[int, Some]:
    """By transaction the first of what it sent and polled: f, type, process, invoked, completed (ns), topic,
    partition, offset, value, committed."""
    own = Window.partitionBy("transaction")
    rows = (
        history.records.where(F.col("transaction").isin(*ops))
        .withColumn("total", F.count("*").over(own))
        .withColumn("rank", F.row_number().over(own.orderBy("invoked", "process", "index")))
        .where(F.col("rank") <= CAP)
        .select(
            "transaction", "total", "rank", "f", "type", "process", "invoked", "completed", "topic", "partition",
            "offset", "value", "committed",
        )
        .collect()
    )  # fmt: skip
    found: dict[int, list[Row]] = {}
    for row in sorted(rows, key=lambda row: (row.transaction, row["rank"])):
        found.setdefault(row.transaction, []).append(row)
    return {op: Some(rows=tuple(some), total=some[0].total) for op, some in found.items()}


def parts(history: History, transaction: int, value: int | None) -> Some:
    """What a transaction sent, the record of `value` in any case: topic, partition, value, offset, type, invoked."""
    rows = history.records.where("f = 'send'").where(F.col("transaction") == transaction)
    some = first(
        rows.select("topic", "partition", "value", "offset", "type", "invoked"),
        [f"value <> {value}L" if value is not None else "false", "invoked", "value"],
    )
    return Some(rows=tuple(sorted(some.rows, key=lambda row: (row.invoked, row.value))), total=some.total)


def readers(history: History, values: Collection[int]) -> dict[int, Row]:
    """By value who polled it: number (of processes), who: the first few as (process, final, committed)."""
    rows = (
        history.records.where("f = 'poll'")
        .where(F.col("value").isin(*values))
        .groupBy("value")
        .agg(
            F.expr("count(distinct process)").alias("number"),
            F.expr(
                "slice(array_sort(collect_set(struct(process, coalesce(final, false) as final, "
                f"coalesce(committed, false) as committed))), 1, {FEW})"
            ).alias("who"),
        )
        .collect()
    )
    return {row.value: row for row in rows}


def stable(history: History, log: Log, after: int, offset: int) -> Some:
    """Answers of leaders to questions asked after a moment (ns), by which the log was stable up to this offset at
    most: asked, time (ns), node, leader_epoch, last_stable, high_watermark, log_end."""
    rows = log.rows(history.observations).where("kind = 'partition' and leader = node").where(
        (F.col("asked") > after) & (F.col("last_stable") <= offset)
    )  # fmt: skip
    columns = ["asked", "time", "node", "leader_epoch", "last_stable", "high_watermark", "log_end"]
    return first(rows.select(*columns), ["time", "node"])


def followed(history: History, pairs: Collection[tuple[int, int]]) -> tuple[Row, ...]:
    """Where in a log the record of one transaction is next to that of another, as far as records are known to be
    there: source, target (transactions), topic, partition, and offset and value of either.

    Of each pair and log the first such place.
    """
    ops = sorted({op for pair in pairs for op in pair})
    logs = history.records.where("f = 'send'").where(F.col("transaction").isin(*ops))
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
    rows = before.where(_one_of(pairs, "before.transaction", "transaction")).selectExpr(
        "topic", "partition", "before.transaction as source", "transaction as target",
        "before.offset as offset", "before.value as value", "at as next_offset", "value as next_value",
    )  # fmt: skip
    key = ["source", "target", "topic", "partition"]
    firsts = rows.groupBy(*key).agg(
        F.expr("min(struct(offset, value, next_offset, next_value))").alias("place")
    )
    return tuple(sorted(firsts.select(*key, "place.*").collect(), key=lambda row: tuple(row)))


def read_from(history: History, pairs: Collection[tuple[int, int]]) -> tuple[Row, ...]:
    """Where a transaction polled, with read_committed, what another had sent: source (who sent), target, topic,
    partition, offset, value, time (ns, of the first such poll). Of each pair and log the first one."""
    ops = sorted({op for pair in pairs for op in pair})
    ours = history.records.where(F.col("transaction").isin(*ops))
    sent = ours.where("f = 'send'").selectExpr("topic", "partition", "value", "transaction as source")
    rows = (
        ours.where("f = 'poll' and coalesce(committed, false) and error is null")
        .selectExpr("topic", "partition", "value", "offset", "transaction as target", f"{TIME} as time")
        .join(sent, ["topic", "partition", "value"])
        .where(_one_of(pairs, "source", "target"))
    )
    key = ["source", "target", "topic", "partition"]
    firsts = rows.groupBy(*key).agg(F.expr("min(struct(time, offset, value))").alias("place"))
    return tuple(sorted(firsts.select(*key, "place.*").collect(), key=lambda row: tuple(row)))


def _one_of(pairs: Collection[tuple[int, int]], source: str, target: str) -> str:
    both: Sequence[str] = [f"({source} = {a}L and {target} = {b}L)" for a, b in sorted(pairs)]
    return " or ".join(both)
