"""The records and reads of sessions."""

from __future__ import annotations

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from analyzers.facts.columns import ACKED, LOG, SESSION
from analyzers.history.load import History


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
    return _of(records.where(history.session_filter), reads.select("run", "session").distinct())


def of_users(history: History) -> DataFrame:
    """The records of sessions whose sends and polls have an order between them.

    These are the declared sessions, and processes without a session that both send and poll.
    """
    records = history.records.where(history.session_filter)
    users = (
        records.groupBy("run", F.expr(SESSION).alias("session"))
        .agg(F.expr(f"bool_or({ACKED}) as sends"), F.expr("bool_or(f = 'poll') as polls"))
        .where("sends and (polls or session >= 0)")
    )
    return _of(records, users.select("run", "session"))


def _of(records: DataFrame, sessions: DataFrame) -> DataFrame:
    rows = records.withColumn("session", F.expr(SESSION))
    return rows.join(F.broadcast(sessions), ["run", "session"], "left_semi")
