"""The rows around a finding about a consumer group: membership events, commits, and client processes that ended."""

from __future__ import annotations

from collections.abc import Collection, Mapping

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from analyzers.explain.evidence.excerpt import MAX_ROWS, Excerpt, first_rows, nearest_rows
from analyzers.explain.evidence.log import Log
from analyzers.history.load import History
from workloads.history.schema import HARNESS

TIME = "coalesce(completed, invoked)"
EVENT = "get_json_object(value, '$.event')"


def groups(history: History, log: Log, example: Mapping[str, int | None]) -> tuple[str, ...]:
    """The groups of a finding: that of its operation, else those of its process, else all that read the log."""
    rows = history.operations.where("f in ('member', 'commit')")
    filtered = [
        rows.where(F.col(column) == known)
        for column in ("op", "process")
        if (known := example.get(column)) is not None
    ]
    for candidates in (*filtered, log.rows(rows)):
        names = sorted(row.group for row in candidates.select("group").distinct().limit(MAX_ROWS).collect())
        if names:
            return tuple(names)
    return ()


def member_events(
    history: History, names: Collection[str], log: Log | None, began: int, ended: int
) -> Excerpt:
    """The membership events of groups nearest to a span (ns): those about a log, or about all logs for None.

    Columns: group, process, op, type, event, generation, topic, partition, start_offset, policy (auto.offset.reset),
    instance (group.instance.id), invoked, completed.
    """
    rows = _of(history, "member", names)
    if log is not None:
        rows = rows.where(
            F.col("topic").isNull() | ((F.col("topic") == log.topic) & (F.col("partition") == log.partition))
        )
    rows = rows.selectExpr(
        "group", "process", "op", "type", f"{EVENT} as event", "generation", "topic", "partition", "start_offset",
        "get_json_object(value, '$.auto_offset_reset') as policy", "get_json_object(value, '$.instance') as instance",
        "invoked", "completed",
    )  # fmt: skip
    return nearest_rows(rows, TIME, began, ended, ["invoked", "process", "op"])


def commits(history: History, names: Collection[str], log: Log, began: int, ended: int) -> Excerpt:
    """The commits for a log nearest to a span (ns).

    Columns: group, process, op, type, generation, offset, reset, transaction (op; null for none), invoked, completed.
    """
    return nearest_rows(_commits(history, names, log), TIME, began, ended, ["invoked", "process", "op"])


def commits_of_offset(
    history: History, names: Collection[str], log: Log, offset: int, *, before: int
) -> Excerpt:
    """The first acknowledged commits of an offset that completed at or before a time (ns); columns of `commits`."""
    rows = _commits(history, names, log).where((F.col("offset") == offset) & (F.col("completed") <= before))
    return first_rows(rows.where("type = 'ok'"), ["invoked", "process", "op"])


def process_ends(history: History, processes: Collection[int]) -> Excerpt:
    """How and when these client processes ended. Columns: process, event, time (ns)."""
    rows = history.operations.where(f"f = 'worker' and process = {HARNESS}").selectExpr(
        "cast(get_json_object(value, '$.process') as int) as process", f"{EVENT} as event", f"{TIME} as time"
    )
    ended = rows.where("event in ('stopped', 'crashed', 'killed')").where(F.col("process").isin(*processes))
    return first_rows(ended, ["time", "process", "event"])


def _of(history: History, f: str, names: Collection[str]) -> DataFrame:
    return history.operations.where(F.col("f") == f).where(F.col("group").isin(*names))


def _commits(history: History, names: Collection[str], log: Log) -> DataFrame:
    return log.rows(_of(history, "commit", names)).selectExpr(
        "group", "process", "op", "type", "generation", "end_offset as offset",
        "coalesce(get_json_object(value, '$.reset') = 'true', false) as reset",
        "get_json_object(value, '$.transaction') as transaction", "invoked", "completed",
    )  # fmt: skip
