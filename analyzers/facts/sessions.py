"""What sessions read and wrote, and how far each had got before."""

from __future__ import annotations

from pyspark.sql import DataFrame, Window
from pyspark.sql import functions as F

from analyzers.facts.compaction import without_compacted
from analyzers.facts.fact import ACKED, LOG, POLLED, SENDS_AND_POLLS, SESSION, TIME, FirstLook, fact, same
from analyzers.facts.removals import removed_beginnings
from analyzers.history.load import History
from workloads.history.live.recent import READING_SPAN


def completed_reads(history: History) -> DataFrame:
    """The ok reads. Columns: session, process, op, invoked, completed (ns), end_offset, committed (whether it is
    recorded to have read with read_committed)."""
    reads = history.operations.where("f = 'read' and type = 'ok'")
    return reads.selectExpr(
        *LOG, f"{SESSION} as session", "process", "op", "invoked", "completed", "end_offset",
        "coalesce(get_json_object(value, '$.committed') = 'true', false) as committed",
    )  # fmt: skip


def with_isolation(reads: DataFrame, polls: DataFrame) -> DataFrame:
    """The reads of `completed_reads`, where `committed` is also true in a session that polled with read_committed, if
    none of its reads is recorded to have: nothing says then which of them did. polls: those of the sessions."""
    by_session = (
        polls.where("committed")
        .selectExpr("run", "session", "false as recorded")
        .unionByName(reads.where("committed").selectExpr("run", "session", "true as recorded"))
        .groupBy("run", "session")
        .agg(F.expr("not bool_or(recorded) as only_polls"))
    )
    return (
        reads.join(F.broadcast(by_session), ["run", "session"], "left")
        .withColumn("committed", F.expr("committed or coalesce(only_polls, false)"))
        .drop("only_polls")
    )


def of_readers(records: DataFrame, reads: DataFrame, history: History) -> DataFrame:
    """Those of `records` that sessions with a completed read made. The others do not know any end of a log."""
    return _of(records.where(history.sessions), reads.select("run", "session").distinct())


def of_users(history: History) -> DataFrame:
    """The records of sessions whose sends and polls have an order between them.

    These are the declared sessions, and processes without a session that both send and poll.
    """
    records = history.records.where(history.sessions)
    users = (
        records.groupBy("run", F.expr(SESSION).alias("session"))
        .agg(F.expr(f"bool_or({ACKED}) as sends"), F.expr("bool_or(f = 'poll') as polls"))
        .where("sends and (polls or session >= 0)")
    )
    return _of(records, users.select("run", "session"))


def _of(records: DataFrame, sessions: DataFrame) -> DataFrame:
    rows = records.withColumn("session", F.expr(SESSION))
    return rows.join(F.broadcast(sessions), ["run", "session"], "left_semi")


# Of events in the same nanosecond, no completion counts for a read that begins.
BEGINS, COMPLETES = 0, 1


@fact(
    needs="read",
    looks=[
        FirstLook(
            per="session",
            where="event = 'read'",
            columns={"end_offset": "offset"},
            upper={"reached": "greatest(known + 1, ended)"},
        )
    ],
)
def session_reads(history: History) -> DataFrame:
    """One row per completed read.

    Columns: session, process, op, end_offset, time (ns, when it began), reached: the end (exclusive) of
    what the session had polled before, or the end that an earlier completed read had reached, whichever is larger,
    and reached_at: when it first had (ns); null for the first. Of a read with read_committed only what the session
    reached with read_committed: the last stable offset, at which it ends, may be below everything else.
    """
    polls = of_readers(history.records, completed_reads(history), history).where("f = 'poll'")
    reads = with_isolation(completed_reads(history), polls)
    key = [*LOG, "session"]
    begun = reads.selectExpr(
        *key, "invoked as at", f"{BEGINS} as kind", "committed", "process", "op", "end_offset"
    )
    done = reads.selectExpr(
        *key,
        "completed as at",
        f"{COMPLETES} as kind",
        "committed",
        "struct(end_offset as end, -completed as since) as reached",
    )
    polled = polls.selectExpr(
        *key,
        f"{TIME} as at",
        f"{COMPLETES} as kind",
        "coalesce(committed, false) as committed",
        f"struct(offset + 1 as end, -{TIME} as since) as reached",
    )
    sofar = Window.partitionBy(*key).orderBy("at", "kind").rowsBetween(Window.unboundedPreceding, 0)
    return (
        begun.unionByName(done, allowMissingColumns=True)
        .unionByName(polled, allowMissingColumns=True)
        .withColumn("alike", F.max(F.expr("if(committed, reached, null)")).over(sofar))
        .withColumn("reached", F.max("reached").over(sofar))
        .where(f"kind = {BEGINS}")
        .withColumn("reached", F.expr("if(committed, alike, reached)"))
        .selectExpr(
            *key, "process", "op", "end_offset", "at as time", "reached.end as reached",
            "-reached.since as reached_at",
        )
    )  # fmt: skip


# Of events in the same nanosecond, a completion does not count for a beginning.
BEGINS, COMPLETES = 0, 1


@fact(
    needs=SENDS_AND_POLLS,
    looks=[
        FirstLook(
            per="session",
            where="event = 'send'",
            columns=same("offset"),
            upper={"written": "written", "read": "known"},
        )
    ],
)
def session_sends(history: History) -> DataFrame:
    """One row per acknowledged send with an offset, of sessions as `of_users` explains.

    Columns: session, process, op, offset, value, invoked, time (ns, of the acknowledgement); read and
    read_at: the highest offset of the log that the session had polled before it invoked the send, and
    when first (ns); written and written_at: the same for its acknowledged sends. Null for none.
    """
    rows = of_users(history).where(f"offset is not null and (f = 'poll' or ({ACKED}))")
    key = [*LOG, "session"]
    done = rows.selectExpr(
        *key,
        f"{TIME} as at",
        f"{COMPLETES} as kind",
        f"if(f = 'poll', struct(offset, -{TIME} as since), null) as reading",
        f"if(f = 'send', struct(offset, -{TIME} as since), null) as writing",
    )
    begun = rows.where("f = 'send'").selectExpr(
        *key, "invoked as at", f"{BEGINS} as kind", "process", "op", "offset", "value", "invoked",
        "completed as time",
    )  # fmt: skip
    line = Window.partitionBy(*key).orderBy("at", "kind").rowsBetween(Window.unboundedPreceding, 0)
    return (
        begun.unionByName(done, allowMissingColumns=True)
        .withColumn("reading", F.max("reading").over(line))
        .withColumn("writing", F.max("writing").over(line))
        .where(f"kind = {BEGINS}")
        .selectExpr(
            *key, "process", "op", "offset", "value", "invoked", "time",
            "reading.offset as read", "-reading.since as read_at",
            "writing.offset as written", "-writing.since as written_at",
        )
    )  # fmt: skip


# At the end of a read, every write counts that was acknowledged by then, also during the read. The fact asks for
# less, but to know that takes the first read after each write. Without such an event, the read got all of them.
MISSED = (
    "event = 'finish' and written > known or event = 'finish' and earliest < first or "
    "event = 'poll' and not is_whole or event = 'poll' and known >= 0 and offset > known + 1 or "
    "event = 'ack' and offset is null"
)


@fact(needs="read", looks=[FirstLook(per="session", where=MISSED)])
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
