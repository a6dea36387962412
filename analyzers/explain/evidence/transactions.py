"""The rows around a finding about a transaction: its operations, its records, and claims of its transactional id."""

from __future__ import annotations

from collections.abc import Collection

from pyspark.sql import Row, Window
from pyspark.sql import functions as F

from analyzers.explain.evidence.excerpt import MAX_ROWS, Excerpt, first_rows, nearest_rows
from analyzers.explain.evidence.log import Log
from analyzers.history.load import History

NAMED = [
    "op", "process", "type", "invoked", "completed",
    "get_json_object(value, '$.transactional_id') as name",
    "cast(get_json_object(value, '$.epoch') as bigint) as epoch",
]  # fmt: skip

NAMED_READERS = 5
"""Readers of one record that an explanation names; the others are counted."""


def transactions(history: History, ops: Collection[int]) -> tuple[Row, ...]:
    """The transactions with these operation ids.

    Columns: op, process, type, invoked, completed (ns), name (the transactional id), epoch, outcome, ending (ns).
    """
    rows = history.operations.where("f = 'txn'").where(F.col("op").isin(*ops))
    found = rows.selectExpr(
        *NAMED,
        "get_json_object(value, '$.outcome') as outcome",
        "cast(get_json_object(value, '$.ending') as bigint) as ending",
    ).collect()
    return tuple(sorted(found, key=lambda row: (row.invoked, row.op)))


def inits(history: History, names: Collection[str], at: int) -> Excerpt:
    """The claims of these transactional ids nearest to a time (ns).

    Columns: op, process, type, invoked, completed, name, epoch.
    """
    rows = history.operations.where("f = 'init'").selectExpr(*NAMED).where(F.col("name").isin(*names))
    return nearest_rows(rows, "coalesce(completed, invoked)", at, at, ["invoked", "process", "op"])


def steps(history: History, ops: Collection[int]) -> dict[int, Excerpt]:
    """The first records that each transaction sent and polled, by transaction.

    Columns: f, type, process, invoked, completed (ns), topic, partition, offset, value, committed.
    """
    own = Window.partitionBy("transaction")
    rows = (
        history.records.where(F.col("transaction").isin(*ops))
        .withColumn("total", F.count("*").over(own))
        .withColumn("rank", F.row_number().over(own.orderBy("invoked", "process", "index")))
        .where(F.col("rank") <= MAX_ROWS)
        .select(
            "transaction", "total", "rank", "f", "type", "process", "invoked", "completed", "topic", "partition",
            "offset", "value", "committed",
        )
        .collect()
    )  # fmt: skip
    by_op: dict[int, list[Row]] = {}
    for row in sorted(rows, key=lambda row: (row.transaction, row["rank"])):
        by_op.setdefault(row.transaction, []).append(row)
    return {op: Excerpt(rows=tuple(of_op), total=of_op[0].total) for op, of_op in by_op.items()}


def sent_records(history: History, transaction: int, value: int | None) -> Excerpt:
    """The records that a transaction sent, that of `value` always among them.

    Columns: topic, partition, value, offset, type, invoked.
    """
    rows = history.records.where("f = 'send'").where(F.col("transaction") == transaction)
    excerpt = first_rows(
        rows.select("topic", "partition", "value", "offset", "type", "invoked"),
        [f"value <> {value}L" if value is not None else "false", "invoked", "value"],
    )
    by_time = sorted(excerpt.rows, key=lambda row: (row.invoked, row.value))
    return Excerpt(rows=tuple(by_time), total=excerpt.total)


def readers(history: History, values: Collection[int]) -> dict[int, Row]:
    """The readers of each value: number (of processes), named (the first few as process, final, committed)."""
    rows = (
        history.records.where("f = 'poll'")
        .where(F.col("value").isin(*values))
        .groupBy("value")
        .agg(
            F.expr("count(distinct process)").alias("number"),
            F.expr(
                "slice(array_sort(collect_set(struct(process, coalesce(final, false) as final, "
                f"coalesce(committed, false) as committed))), 1, {NAMED_READERS})"
            ).alias("named"),
        )
        .collect()
    )
    return {row.value: row for row in rows}


def stable_offsets(history: History, log: Log, after: int, offset: int) -> Excerpt:
    """Answers of leaders, to requests sent after a time (ns), with a last stable offset of at most `offset`.

    Columns: asked, time (ns), node, leader_epoch, last_stable, high_watermark, log_end.
    """
    rows = log.rows(history.observations).where("kind = 'partition' and leader = node").where(
        (F.col("asked") > after) & (F.col("last_stable") <= offset)
    )  # fmt: skip
    columns = ["asked", "time", "node", "leader_epoch", "last_stable", "high_watermark", "log_end"]
    return first_rows(rows.select(*columns), ["time", "node"])
