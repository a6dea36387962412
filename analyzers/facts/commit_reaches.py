"""Per acknowledged commit of a position: how far the group had got, and the record next below the position."""

from __future__ import annotations

from pyspark.sql import DataFrame, Window
from pyspark.sql import functions as F

from analyzers.facts.columns import LOG
from analyzers.facts.compaction import without_compacted
from analyzers.facts.fact import fact
from analyzers.facts.members import GROUP_LOG, UNBOUNDED, assignments, commits
from analyzers.facts.reaches import certain_polls, isolation, reaches
from analyzers.history.load import History

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
    """The ok commits of positions above what the group had reached, with that.

    Nothing is found of one unless a record lies between both. The fact needs no other record.
    """
    return history.shared_rows("commits_above", _commits_above)


def _commits_above(history: History) -> DataFrame:
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
