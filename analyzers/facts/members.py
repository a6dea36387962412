"""What members of groups did: their events, commits and polls. Most facts of groups read these tables.

With a partition that it kept in a later generation, a member continues where it was. With one that it was assigned
anew, it starts where its group had committed. Histories of other programs need not count assignments, so that only
the events of members tell both apart.
"""

from __future__ import annotations

from pyspark.sql import DataFrame, Window
from pyspark.sql import functions as F

from analyzers.facts.fact import LOG, TIME, shared
from analyzers.history.load import History


@shared
def poll_spans(history: History) -> DataFrame:
    """One row per poll and log of which it returned an offset.

    Columns: those of `LOG`, process, op, generation, assignment, final, committed (the last two are never null), low,
    high (the lowest and the highest offset), began (ns: the first invocation), known (ns: the last completion; if it
    never completed, when it began).
    """
    flags = [F.expr(f"coalesce({name}, false) as {name}") for name in ("final", "committed")]
    return (
        history.records.where("f = 'poll' and offset is not null")
        .groupBy(*LOG, "process", "op", "generation", "assignment", *flags)
        .agg(
            F.min("offset").alias("low"),
            F.max("offset").alias("high"),
            F.min("invoked").alias("began"),
            F.expr(f"max({TIME})").alias("known"),
        )
    )


GROUP_LOG = ["run", "group", "topic", "partition"]
"""The columns that identify a log and a group that reads it."""

UNBOUNDED = Window.unboundedPreceding

ENDLESS = (1 << 63) - 1
"""ns; later than everything."""


@shared
def events(history: History) -> DataFrame:
    """One row per ``member`` operation that did not fail. Columns: run, group, topic, partition, process, op,
    generation, event, invoked, completed (ns; never null), start_offset, policy (auto.offset.reset), instance
    (group.instance.id)."""
    return history.operations.where("f = 'member' and type <> 'fail'").selectExpr(
        *GROUP_LOG, "process", "op", "generation", "get_json_object(value, '$.event') as event", "invoked",
        "coalesce(completed, invoked) as completed", "start_offset",
        "get_json_object(value, '$.auto_offset_reset') as policy", "get_json_object(value, '$.instance') as instance",
    )  # fmt: skip


@shared
def commits(history: History) -> DataFrame:
    """One row per ``commit`` operation. Columns: run, group, topic, partition, process, op, generation, type,
    invoked, completed (ns), offset, reset, transaction (op; null for none)."""
    return history.operations.where("f = 'commit'").selectExpr(
        *GROUP_LOG, "process", "op", "generation", "type", "invoked", "completed", "end_offset as offset",
        "coalesce(get_json_object(value, '$.reset') = 'true', false) as reset",
        "cast(get_json_object(value, '$.transaction') as bigint) as transaction",
    )  # fmt: skip


def binding_commits(history: History) -> DataFrame:
    """The ok commits that had taken effect when they completed; columns of `commits`.

    Offsets that were sent to a transaction are pending until its markers are written, which is after the commit of
    the transaction was acknowledged. Only members with read_committed wait for that when they ask where to start.
    """
    waits = polls_of_groups(history).groupBy("run", "group").agg(F.expr("bool_and(committed)").alias("waits"))
    return (
        commits(history)
        .where("type = 'ok' and completed is not null")
        .join(F.broadcast(waits), ["run", "group"], "left")
        .where("transaction is null or waits")
        .drop("waits")
    )


@shared
def members(history: History) -> DataFrame:
    """One row per member of a group. Columns: run, process, group."""
    return history.operations.where("f in ('member', 'commit')").select("run", "process", "group").distinct()


def deaths(history: History) -> DataFrame:
    """One row per client process that ended. Columns: run, process, event (``died``), invoked, completed (ns)."""
    ended = "f = 'worker' and get_json_object(value, '$.event') in ('stopped', 'crashed', 'killed')"
    return history.operations.where(ended).selectExpr(
        "run", "cast(get_json_object(value, '$.process') as int) as process", "'died' as event", "invoked",
        "coalesce(completed, invoked) as completed",
    )  # fmt: skip


def assignments(history: History) -> DataFrame:
    """One row per ``assigned`` of a log.

    Columns: run, group, topic, partition, process, op, generation, invoked, completed (ns), start_offset, policy,
    instance; and ending, ended (ns; null for never): when the process's next event about the log, or about itself,
    began and was over; ending_event: which.
    """
    known = events(history)
    of_logs = known.where("topic is not null")
    # A member that leaves or dies loses all of its assignments.
    logs = of_logs.select(*GROUP_LOG, "process").distinct()
    left = known.where("event in ('left', 'fenced')").drop("topic", "partition")
    gone = left.join(logs, ["run", "group", "process"])
    dead = deaths(history).join(logs, ["run", "process"])
    own = Window.partitionBy(*GROUP_LOG, "process").orderBy("invoked", "completed", "op")
    return (
        of_logs.unionByName(gone)
        .unionByName(dead, allowMissingColumns=True)
        .withColumn("ending", F.lead("invoked").over(own))
        .withColumn("ended", F.lead("completed").over(own))
        .withColumn("ending_event", F.lead("event").over(own))
        .where("event = 'assigned'")
        .drop("event")
    )


def committed_before(history: History, moments: DataFrame, *, at: str, until: str) -> DataFrame:
    """The rows with the column `committed`: the highest offset of a binding commit that had completed before `at`.

    moments    have the columns of `GROUP_LOG`, and at and until, in ns.
    at, until  a commit does not count if a reset had begun by `until` and was not completed before the commit began.
    """
    resets = (
        commits(history)
        .where("reset and type <> 'fail'")
        .selectExpr(*GROUP_LOG, "struct(invoked, completed) as one")
        .groupBy(*GROUP_LOG)
        .agg(F.collect_list("one").alias("resets"))
    )
    begun = f"coalesce(size(filter(resets, r -> r.invoked <= {until})), 0)"
    over = "coalesce(size(filter(resets, r -> r.completed < invoked)), 0)"
    done = (
        binding_commits(history)
        .join(F.broadcast(resets), GROUP_LOG, "left")
        .selectExpr(*GROUP_LOG, "completed as moment", "1 as kind", "offset as committed", f"{over} as era")
    )
    asked = (
        moments.join(F.broadcast(resets), GROUP_LOG, "left")
        .withColumn("era", F.expr(begun))
        .withColumn("moment", F.col(at))
        .withColumn("kind", F.lit(0))
        .drop("resets")
    )
    line = Window.partitionBy(*GROUP_LOG, "era").orderBy("moment", "kind").rowsBetween(UNBOUNDED, -1)
    return (
        asked.unionByName(done, allowMissingColumns=True)
        .withColumn("committed", F.max("committed").over(line))
        .where("kind = 0")
        .drop("moment", "kind", "era")
    )


def polls_of_groups(history: History) -> DataFrame:
    """Polls by members of groups: the columns of `poll_spans`, and group."""
    return poll_spans(history).join(F.broadcast(members(history)), ["run", "process"])


def of_groups(history: History) -> DataFrame:
    """Records polled by members of groups.

    Columns: run, topic, partition, group, process, op, offset, value, generation, assignment, invoked, completed
    (ns; if it never completed, when it began).
    """
    return (
        history.records.where("f = 'poll' and offset is not null")
        .join(F.broadcast(members(history)), ["run", "process"])
        .selectExpr(
            *GROUP_LOG, "process", "op", "offset", "value", "generation", "assignment",
            "invoked", "coalesce(completed, invoked) as completed",
        )
    )  # fmt: skip


def readings(history: History) -> DataFrame:
    """The rows of `poll_spans` with ``reading``: equal for polls of a process and log that are one reading."""
    return with_reading(poll_spans(history), history, at="known", name="reading")


def with_reading(polls: DataFrame, history: History, *, at: str, name: str) -> DataFrame:
    """Polls with the column `name`, which is equal for those of a process and log between which nothing says that the
    process had to begin anew.

    It begins anew with an event about the partition (assigned, revoked, lost) or about the member as a whole (left,
    fenced): the first poll of the generation of an assignment, or the first one that completed when the event had
    begun. Where no assignment of the partition is recorded, it begins anew with each generation.

    polls  have the columns of `LOG`, process, generation and `at` (ns, when the poll completed).
    """
    key = [*LOG, "process"]
    known = events(history).selectExpr(
        "run", "topic", "partition", "process", "event", "generation", "invoked as moment"
    )
    of_members = known.where("event in ('left', 'fenced')").drop("topic", "partition")
    changes = known.unionByName(of_members.join(polls.select(*key).distinct(), ["run", "process"]))
    line = Window.partitionBy(*key)
    return (
        polls.withColumn("moment", F.col(at))
        .unionByName(changes, allowMissingColumns=True)
        # Of an event and a poll in the same nanosecond, the event comes first: the frame has all rows of a moment.
        .withColumn("before", F.count("event").over(line.orderBy("moment")))
        .withColumn("since", F.expr("count_if(event = 'assigned')").over(line.orderBy("generation")))
        .withColumn("is_known", F.expr("bool_or(event = 'assigned')").over(line))
        .where("event is null")
        .withColumn(name, F.expr("struct(before, since, if(is_known, null, generation) as generation)"))
        .select(*polls.columns, name)
    )
