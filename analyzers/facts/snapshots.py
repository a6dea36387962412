"""Per snapshot of all accounts: their total, and the total that its positions explain."""

from __future__ import annotations

from pyspark.sql import DataFrame, Window
from pyspark.sql import functions as F

from analyzers.facts.compaction import without_compacted
from analyzers.facts.fact import LOG, POLLED, TIME, TRANSFERS, fact
from analyzers.facts.removals import final_reads, removed_beginnings
from analyzers.history.load import History
from workloads.history.schema import VALUE_BITS

READER = ["run", "process"]
"""A process that takes snapshots."""

BLOCK_BITS = 10
"""A block is 1,024 offsets."""

NAMED = 5
"""Transactions that are named of those that a snapshot has in part."""

_NAME = f"concat(shiftright(transaction, {VALUE_BITS}), ':', transaction & {(1 << VALUE_BITS) - 1}L)"


@fact(needs=TRANSFERS)
def snapshots(history: History) -> DataFrame:
    """One row per snapshot: what its process had polled below the positions of its completed reads, and those of its
    earlier snapshots.

    Columns:

    - process, snapshot (its number), time (ns, when it was complete),
    - total: the sum of the amounts of what it has,
    - expected: the sum of the amounts of all records of each transaction of which it has one, without those that may
      lie at or above its positions, or that may have been removed before they were read,
    - missing: the number of records that this counts and the snapshot lacks; transactions: the first of those to
      which they belong, as text; topic, partition, offset, value, transaction: of one of them.
    """
    reads = history.operations.where("f = 'read'").withColumn(
        "number", F.expr("cast(get_json_object(value, '$.snapshot') as int)")
    )
    taken = reads.where("number is not null").groupBy(*READER, "number").agg(F.max("completed").alias("time"))
    ends = _ends(reads, history)
    had = _had(history, ends)
    lacking = "if(since is null, struct(transaction, topic, partition, value, offset), null)"
    counted = _counted(history, ends, had).selectExpr(
        *READER, "number", "0L as total", "amount as expected", f"{lacking} as lack", f"{_NAME} as name"
    )
    changed = (
        had.selectExpr(*READER, "since as number", "amount as total", "0L as expected")
        .unionByName(counted, allowMissingColumns=True)
        .groupBy(*READER, "number")
        .agg(
            F.sum("total").alias("total"),
            F.sum("expected").alias("expected"),
            F.count("lack").alias("missing"),
            F.min("lack").alias("lack"),
            F.expr(f"slice(array_sort(collect_set(name) filter (where lack is not null)), 1, {NAMED})").alias(
                "transactions"
            ),
        )
    )
    sofar = (
        Window.partitionBy(*READER)
        .orderBy("number")
        .rowsBetween(Window.unboundedPreceding, Window.currentRow)
    )
    return (
        taken.join(changed, [*READER, "number"], "left")
        .withColumns(
            {name: F.coalesce(F.sum(name).over(sofar), F.lit(0)) for name in ("total", "expected", "missing")}
        )
        .withColumn("lack", F.first("lack", ignorenulls=True).over(sofar))
        .withColumn("transactions", F.flatten(F.collect_list("transactions").over(sofar)))
        .selectExpr(
            *READER, "number as snapshot", "time", "total", "expected", "missing",
            f"slice(transactions, 1, {NAMED}) as transactions", "lack.*",
        )
    )  # fmt: skip


def _ends(reads: DataFrame, history: History) -> DataFrame:
    """The positions of completed reads. Columns: LOG, process, number, end, completed (ns)."""
    done = reads.where("number is not null and type = 'ok'")
    return without_compacted(done, history).selectExpr(
        *LOG, "process", "number", "end_offset as end", "completed"
    )


def _passes(ends: DataFrame) -> DataFrame:
    """Per process and log, the offsets below the position of each snapshot, and at or above those of all before it.

    Columns: LOG, process, block (of `BLOCK_BITS`), from_offset, to_offset (exclusive), number, and read (ns, when the
    read to this position was completed). One row for each block, so that an offset is compared with few rows.
    """
    before = Window.partitionBy(*LOG, "process").orderBy("number").rowsBetween(Window.unboundedPreceding, -1)
    return (
        ends.withColumnsRenamed({"end": "to_offset", "completed": "read"})
        .withColumn("from_offset", F.coalesce(F.max("to_offset").over(before), F.lit(0)))
        .withColumn("block", F.expr(f"explode(sequence({_block('from_offset')}, {_block('to_offset - 1')}))"))
    )


def _block(offset: str) -> str:
    return f"shiftright({offset}, {BLOCK_BITS})"


def _in_pass(rows: DataFrame, ends: DataFrame, how: str) -> DataFrame:
    """The rows (LOG, process, offset), joined with number, the first snapshot that reaches beyond their offset, and
    `read`."""
    placed = rows.withColumn("block", F.expr(_block("offset"))).alias("placed")
    passes = F.broadcast(_passes(ends)).alias("pass")
    here = f"{_same('placed', 'pass', 'block')} and offset >= from_offset and offset < to_offset"
    return placed.join(passes, F.expr(here), how).select("placed.*", "number", "read")


def _same(one: str, other: str, *more: str) -> str:
    return " and ".join(f"{one}.{name} = {other}.{name}" for name in (*LOG, "process", *more))


def _had(history: History, ends: DataFrame) -> DataFrame:
    """Per process and record that it polled, one row for each offset: amount; since, the number of the first snapshot
    that has it. Records that no snapshot has are left out."""
    polls = (
        _in_pass(history.records.where(POLLED), ends, "inner")
        .groupBy(*LOG, "process", "offset", "value", "amount", "number", "read")
        .agg(F.expr(f"min({TIME})").alias("got"))
    )
    every = ends.groupBy(*LOG, "process").agg(
        F.expr("array_sort(collect_list(struct(number, end, completed)))").alias("ends")
    )
    # Hardly any record comes after the read that passed its offset first. Only for those all positions are needed.
    is_late = F.expr(f"{_same('got', 'every')} and read < got")
    next_one = "get(filter(ends, e -> e.end > offset and e.completed >= got), 0).number"
    return (
        polls.alias("got")
        .join(F.broadcast(every).alias("every"), is_late, "left")
        .select("got.*", F.expr(f"if(read < got, {next_one}, number)").alias("since"))
        .where("since is not null")
        .drop("number", "read", "got")
    )


def _counted(history: History, ends: DataFrame, had: DataFrame) -> DataFrame:
    """Per process and record of a transaction of which it has one: number, the first snapshot that has to count it.

    Records that no snapshot has to count are left out. Other columns: amount, transaction, since (the first snapshot
    that has it; null for none), offset (the highest at which it was acknowledged or polled).
    """
    parts = _parts(history)
    mine = had.groupBy(*LOG, "process", "value").agg(F.min("since").alias("since"))
    seen = (
        mine.join(parts, [*LOG, "value"]).groupBy(*READER, "transaction").agg(F.min("since").alias("begun"))
    )
    removed = removed_beginnings(history)
    whole = (
        without_compacted(final_reads(history).select(*LOG), history)
        .join(removed, LOG, "left_anti")
        .withColumn("whole", F.lit(True))
    )
    # A record that is at no known offset, and in no final read, is not in its log.
    passed = "case when offset is null then if(whole, begun, null) when offset < removed_to then null else number end"
    every = parts.join(seen, ["run", "transaction"]).join(mine, [*LOG, "process", "value"], "left")
    return (
        _in_pass(every, ends, "left")
        .join(F.broadcast(removed), LOG, "left")
        .join(F.broadcast(whole), LOG, "left")
        .withColumn("number", F.least("since", F.expr(passed)))
        .where("number is not null")
        .withColumn("number", F.greatest("begun", "number"))
    )


def _parts(history: History) -> DataFrame:
    """The records with an amount: amount, offset, and transaction; its own value, if it is in none."""
    return (
        history.records.where("amount is not null")
        .groupBy(*LOG, "value", "amount")
        .agg(
            F.max("offset").alias("offset"),
            F.expr("coalesce(max(transaction) filter (where f = 'send'), value)").alias("transaction"),
        )
    )
