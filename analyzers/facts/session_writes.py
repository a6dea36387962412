"""Per acknowledged send of a session that also reads: the read that had to return it."""

from __future__ import annotations

from pyspark.sql import DataFrame, Window
from pyspark.sql import functions as F

from analyzers.facts.columns import ACKED, LOG, POLLED, TIME
from analyzers.facts.compaction import without_compacted
from analyzers.facts.fact import fact
from analyzers.facts.removals import removed_beginnings
from analyzers.facts.sessions import completed_reads, of_readers
from analyzers.history.load import History
from workloads.history.live.recent import READING_SPAN


@fact(needs="read")
def session_writes(history: History) -> DataFrame:
    """One row per acknowledged send of a session with completed reads, unless it may have been removed meanwhile.

    Columns: session, process, value, offset, time (ns, of the acknowledgement), seen (ns, when the
    session first polled the value), read_op, read_end (ns, completion) and end_offset of the session's
    first completed read of the log that began after the acknowledgement. Each may be null. And isolated:
    whether the session ever reads with read_committed, so that the last stable offset may have ended that read;
    read_process: the process of that read; and while the run goes on: known (ns): up to when the records of that
    process are known, because it began another operation then; complete_since (ns): from when on this part of the
    history has all that the session did.
    """
    reads = completed_reads(history)
    polls = (
        of_readers(history.records, reads, history).where("f = 'poll' and committed").select("run", "session")
    )
    isolated = polls.union(reads.where("committed").select("run", "session")).distinct()
    writes = (
        of_readers(without_compacted(history.records, history), reads, history)
        .where(f"value is not null and (({ACKED}) or ({POLLED}))")
        .groupBy(*LOG, "session", "value")
        .agg(
            F.expr(f"max(completed) filter (where {ACKED})").alias("time"),
            F.expr(f"max(process) filter (where {ACKED})").alias("process"),
            F.expr(f"max(offset) filter (where {ACKED})").alias("offset"),
            F.expr(f"min({TIME}) filter (where {POLLED})").alias("seen"),
        )
        .where("time is not null")
        .join(F.broadcast(removed_beginnings(history)), LOG, "left")
        .where("removed_to is null or offset >= removed_to")
        .drop("removed_to")
        .withColumn("at", F.col("time"))
    )
    begun = reads.selectExpr(
        *LOG, "session", "invoked as at", "struct(invoked, completed, op, end_offset, process) as next_read"
    )
    # Backwards in time, the read is the last one. A read that began in the nanosecond of the acknowledgement did not
    # begin after it, and comes later in this order.
    # Forwards, Spark would go through all that follows for each row.
    line = Window.partitionBy(*LOG, "session").orderBy(F.desc("at"), F.col("next_read").desc_nulls_first())
    onwards = line.rowsBetween(Window.unboundedPreceding, Window.currentRow)
    seen = (
        writes.unionByName(begun, allowMissingColumns=True)
        .withColumn("next_read", F.last("next_read", ignorenulls=True).over(onwards))
        .where("time is not null")
        .selectExpr(
            *LOG, "session", "process", "value", "offset", "time", "seen",
            "next_read.op as read_op", "next_read.completed as read_end", "next_read.end_offset as end_offset",
            "next_read.process as read_process",
        )
    )  # fmt: skip
    if history.is_running:
        known = (
            history.records.groupBy("run", F.col("process").alias("read_process"))
            .agg(F.max("invoked").alias("known"), F.max(F.expr(TIME)).alias("latest"))
            .withColumn("complete_since", F.max("latest").over(Window.partitionBy("run")) - READING_SPAN)
            .drop("latest")
        )
        seen = seen.join(F.broadcast(known), ["run", "read_process"])
    return seen.join(
        F.broadcast(isolated.withColumn("isolated", F.lit(True))), ["run", "session"], "left"
    ).withColumn("isolated", F.expr("coalesce(isolated, false)"))
