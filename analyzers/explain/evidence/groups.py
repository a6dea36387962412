"""Around a finding of groups: what the members were told, what they committed, and who of them ended."""

from __future__ import annotations

from collections.abc import Collection, Mapping

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from analyzers.explain.evidence.log import CAP, Log, Some, first, nearest
from analyzers.history.load import History
from workloads.history.schema import HARNESS

TIME = "coalesce(completed, invoked)"
EVENT = "get_json_object(value, '$.event')"


def groups(history: History, log: Log, example: Mapping[str, int | None]) -> tuple[str, ...]:
    """Whose finding it is: the group of its operation, else of its process, else every one that reads the log."""
    rows = history.operations.where("f in ('member', 'commit')")
    known = [
        rows.where(F.col(column) == told)
        for column in ("op", "process")
        if (told := example.get(column)) is not None
    ]
    for some in (*known, log.rows(rows)):
        found = sorted(row.group for row in some.select("group").distinct().limit(CAP).collect())
        if found:
            return tuple(found)
    return ()


def told(history: History, names: Collection[str], log: Log | None, began: int, ended: int) -> Some:
    """What members were told of a log and of themselves, next to a time (ns); None: of all logs.

    Columns: group, process, op, type, event, generation, topic, partition, start_offset, invoked, completed.
    """
    rows = _of(history, "member", names)
    if log is not None:
        rows = rows.where(
            F.col("topic").isNull() | ((F.col("topic") == log.topic) & (F.col("partition") == log.partition))
        )
    rows = rows.selectExpr(
        "group", "process", "op", "type", f"{EVENT} as event", "generation", "topic", "partition", "start_offset",
        "invoked", "completed",
    )  # fmt: skip
    return nearest(rows, TIME, began, ended, ["invoked", "process", "op"])


def commits(history: History, names: Collection[str], log: Log, began: int, ended: int) -> Some:
    """The commits of a log next to a time (ns): group, process, op, type, generation, offset, reset, invoked,
    completed."""
    return nearest(_commits(history, names, log), TIME, began, ended, ["invoked", "process", "op"])


def commits_of(history: History, names: Collection[str], log: Log, offset: int, until: int) -> Some:
    """The first acknowledged commits of an offset that were over by a time (ns); columns as of `commits`."""
    rows = _commits(history, names, log).where((F.col("offset") == offset) & (F.col("completed") <= until))
    return first(rows.where("type = 'ok'"), ["invoked", "process", "op"])


def ends(history: History, processes: Collection[int]) -> Some:
    """Of these client processes: process, event, time (ns)."""
    rows = history.operations.where(f"f = 'worker' and process = {HARNESS}").selectExpr(
        "cast(get_json_object(value, '$.process') as int) as process", f"{EVENT} as event", f"{TIME} as time"
    )
    ended = rows.where("event in ('stopped', 'crashed', 'killed')").where(F.col("process").isin(*processes))
    return first(ended, ["time", "process", "event"])


def _of(history: History, f: str, names: Collection[str]) -> DataFrame:
    return history.operations.where(F.col("f") == f).where(F.col("group").isin(*names))


def _commits(history: History, names: Collection[str], log: Log) -> DataFrame:
    return log.rows(_of(history, "commit", names)).selectExpr(
        "group", "process", "op", "type", "generation", "end_offset as offset",
        "coalesce(get_json_object(value, '$.reset') = 'true', false) as reset", "invoked", "completed",
    )  # fmt: skip
