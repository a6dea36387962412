"""How far groups got in logs, which positions they committed, and what members polled again below these."""

from __future__ import annotations

from pyspark.sql import DataFrame, Window
from pyspark.sql import functions as F

from analyzers.facts.compaction import without_compacted
from analyzers.facts.fact import LOG, MAYBE_ABORTED, fact
from analyzers.facts.members import (
    GROUP_LOG,
    UNBOUNDED,
    assignments,
    commits,
    committed_before,
    of_groups,
    polls_of_groups,
)
from analyzers.facts.removals import FINAL_READS
from analyzers.history.load import History


def reaches(history: History) -> DataFrame:
    """One row per poll of a log, and per reset that may have taken effect.

    Columns: run, group, topic, partition, began (ns), known (ns: when the poll completed; of a reset, when it
    began), reached (the next offset to read).
    """
    polled = polls_of_groups(history).selectExpr(*GROUP_LOG, "began", "known", "high + 1 as reached")
    resets = commits(history).where("reset and type <> 'fail'")
    resets = resets.selectExpr(*GROUP_LOG, "invoked as began", "invoked as known", "offset as reached")
    return polled.unionByName(resets)


def isolation(history: History) -> DataFrame:
    """One row per group that polled. Columns: run, group, careful: whether a member read with read_committed."""
    return polls_of_groups(history).groupBy("run", "group").agg(F.expr("bool_or(committed)").alias("careful"))


def certain_polls(history: History) -> DataFrame:
    """The polls of records that readers with any isolation level get: not what a reader without read_committed got of
    a transaction that was aborted, or of which the outcome is unknown.
    """
    polls = history.records.where("f = 'poll'")
    uncertain = (
        history.records.where(f"f = 'send' and {MAYBE_ABORTED}")
        .selectExpr(*LOG, "value", "true as is_uncertain")
        .distinct()
    )
    return (
        polls.join(uncertain, [*LOG, "value"], "left")
        .where("is_uncertain is null or coalesce(committed, false)")
        .drop("is_uncertain")
    )


# Of events in the same nanosecond, the commit comes first: the assignment was not completed before it.
COMMITS, ASSIGNS = 0, 1


@fact(needs="commit")
def group_commits(history: History) -> DataFrame:
    """One row per ok commit.

    Columns: group, process, op, generation, offset, reset, time (ns, its invocation), committed: the highest
    offset committed before; newest, newest_process: of the newest generation in which the log had been
    assigned before. Each may be null.
    """
    acknowledged = commits(history).where("type = 'ok' and completed is not null")
    made = committed_before(history, acknowledged, at="invoked", until="completed").withColumn(
        "kind", F.lit(COMMITS)
    )
    assigned = assignments(history).where("generation is not null").selectExpr(
        *GROUP_LOG, "completed as invoked", f"{ASSIGNS} as kind", "struct(generation, process) as newest"
    )  # fmt: skip
    line = Window.partitionBy(*GROUP_LOG).orderBy("invoked", "kind").rowsBetween(UNBOUNDED, 0)
    return (
        made.unionByName(assigned, allowMissingColumns=True)
        .withColumn("newest", F.max("newest").over(line))
        .where(f"kind = {COMMITS}")
        .selectExpr(
            *GROUP_LOG, "process", "op", "generation", "offset", "reset", "invoked as time", "committed",
            "newest.generation as newest", "newest.process as newest_process",
        )
    )  # fmt: skip


# Of events in the same nanosecond, what was reached counts for the commit.
REACHES, COMMITS = 0, 1


@fact(needs="commit")
def commit_reaches(history: History) -> DataFrame:
    """One row per ok commit above what the group had reached before its end, which resets move, too.

    Columns: group, process, op, generation, offset, time (ns, its invocation), reached: the end (exclusive) of what
    the group had polled, started to read at, or been reset to, by operations that began before the commit
    completed; below: the highest offset under the position at which a poll returned a record, and returned (ns):
    when the last such poll began; null for none. If the group reads with read_committed, so did these polls;
    otherwise they are not of transactions that were aborted or that may have been.
    """
    above = commits_above(history).join(F.broadcast(isolation(history)), ["run", "group"], "left")
    polled = certain_polls(history).where("offset is not null")
    # The replica that a member read may have been compacted, and that which a later reader got not yet.
    records = (
        without_compacted(polled, history)
        .join(F.broadcast(above.select(*LOG)), LOG, "left_semi")
        .groupBy(*LOG, "offset")
        .agg(
            F.max("invoked").alias("last"),
            F.expr("max(invoked) filter (where coalesce(committed, false))").alias("last_committed"),
        )
        .selectExpr(
            *LOG, "offset", "struct(offset, last) as record",
            "if(last_committed is null, null, struct(offset, last_committed as last)) as committed_record",
        )
    )  # fmt: skip
    line = Window.partitionBy(*LOG).orderBy("offset").rangeBetween(UNBOUNDED, -1)
    return (
        above.unionByName(records, allowMissingColumns=True)
        .withColumn("any", F.max("record").over(line))
        .withColumn("careful_one", F.max("committed_record").over(line))
        .where("op is not null")
        .withColumn("next", F.expr("if(coalesce(careful, true), careful_one, any)"))
        .selectExpr(
            *GROUP_LOG, "process", "op", "generation", "offset", "time", "reached", "next.offset as below",
            "next.last as returned",
        )
    )  # fmt: skip


def commits_above(history: History) -> DataFrame:
    """The ok commits of positions above what the group had reached, with that."""
    made = commits(history).where("type = 'ok' and completed is not null").selectExpr(
        *GROUP_LOG, "process", "op", "generation", "offset", "invoked as time", "completed as at",
        f"{COMMITS} as kind",
    )  # fmt: skip
    got = (
        reaches(history)
        .selectExpr(*GROUP_LOG, "began as at", "reached")
        .unionByName(assignments(history).selectExpr(*GROUP_LOG, "invoked as at", "start_offset as reached"))
        .withColumn("kind", F.lit(REACHES))
    )
    line = Window.partitionBy(*GROUP_LOG).orderBy("at", "kind").rowsBetween(UNBOUNDED, 0)
    return (
        made.unionByName(got, allowMissingColumns=True)
        .withColumn("reached", F.max("reached").over(line))
        .where(f"kind = {COMMITS} and reached < offset")
        .drop("at", "kind")
    )


LOG_COLUMNS = ", ".join(LOG)

_ABOVE = f"""
    with {FINAL_READS}, undecided as (
        select distinct run, true as is_undecided from {{operations}} where f = 'txn' and type <> 'ok'
    ), ends as (
        select {LOG_COLUMNS}, final_invoked, final_end, final_committed, coalesce(is_undecided, false) as is_undecided
        from final_reads left join undecided using (run)
    ), above as (
        select /*+ BROADCAST(ends) */ commits.*, final_end, final_committed, is_undecided
        from {{commits}} as commits join ends using ({LOG_COLUMNS})
        where type = 'ok' and not reset and invoked < final_invoked and offset > final_end
    ), known as (
        select {LOG_COLUMNS}, offset + 1 as reached, final and committed as is_isolated from {{records}}
        union all
        select {LOG_COLUMNS}, greatest(log_end, high_watermark), false from {{observations}}
        union all
        select {LOG_COLUMNS}, end_offset, false from {{operations}} where f in ('read', 'final-read')
    ), reaches as (
        select /*+ BROADCAST(above) */ {LOG_COLUMNS}, max(reached) as reached, bool_or(is_isolated) as is_isolated
        from known left semi join above using ({LOG_COLUMNS}) group by {LOG_COLUMNS}
    )
    select {LOG_COLUMNS}, `group`, process, op, generation, offset, invoked as time, final_end, reached
    from above join reaches using ({LOG_COLUMNS})
    where not (is_undecided and (final_committed or is_isolated))
"""


@fact(needs="commit")
def commits_above_end(history: History) -> DataFrame:
    """One row per ok commit of a position above the end of the log that its last completed final read, which began
    later, found. Resets are left out, as they go to any position.

    A final read of committed records, as its row or its polls say, counts only if all transactions of the run have
    ended: it finds the last stable offset, and the log may go on behind it.

    Columns: group, process, op, generation, offset, time (ns, its invocation), final_end, and reached: the end
    (exclusive) of the log that any record, read or answer of a broker shows, at whatever time.
    """
    return history.sql(_ABOVE, commits=commits(history))


MEMBER = [*GROUP_LOG, "process", "generation"]


@fact(needs="commit")
def redeliveries(history: History) -> DataFrame:
    """One row per record polled up to the offset committed before, by a member that began below it.

    Columns: process, op, generation, offset, value, time (ns), since (ns, when the event of the assignment began),
    committed (the highest offset of which a commit had been acknowledged by then), and first_polled (ns): when the
    group first polled it. Polls after a seek of the member are left out.
    """
    again = assignments_below(history)
    record = Window.partitionBy(*GROUP_LOG, "offset")
    return (
        of_groups(history)
        .join(F.broadcast(again), GROUP_LOG)
        .where("offset <= committed")
        .withColumn("first_polled", F.min("completed").over(record))
        .where("process = member and generation = of and assignment = unsought and completed > known")
        .withColumnRenamed("completed", "time")
    )


def assignments_below(history: History) -> DataFrame:
    """The first assignment of each member in a generation, where it began below what its group had committed.

    Columns: those of `GROUP_LOG`, member, of (its generation), since, known (ns, when its event began and was over),
    position, committed, and unsought: the assignment as polls have it, before the first seek.
    """
    unsought = polls_of_groups(history).groupBy(*MEMBER).agg(F.min("assignment").alias("unsought"))
    first = (
        assignments(history)
        .groupBy(*MEMBER)
        .agg(F.expr("min(struct(invoked, completed, start_offset))").alias("first"))
    )
    moments = first.selectExpr(
        *MEMBER, "first.invoked as since", "first.completed as known", "first.start_offset as position"
    )
    return (
        committed_before(history, moments, at="since", until="known")
        .where("coalesce(position, 0) < committed")
        .join(unsought, MEMBER)
        .withColumnRenamed("process", "member")
        .withColumnRenamed("generation", "of")
    )
