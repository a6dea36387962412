"""Per record below the start of an assignment: whether any member polled it, and whether it exists."""

from __future__ import annotations

from pyspark.sql import DataFrame, Window
from pyspark.sql import functions as F

from analyzers.facts.columns import LOG
from analyzers.facts.compaction import without_compacted
from analyzers.facts.fact import fact
from analyzers.facts.members import GROUP_LOG, UNBOUNDED, assignments, binding_commits, commits, members
from analyzers.facts.reaches import certain_polls, isolation, reaches
from analyzers.history.load import History

# Of events in the same nanosecond, what was reached counts for the assignment.
REACHES, BEGINS = 0, 1

ASSIGNMENT = [*GROUP_LOG, "process", "op", "generation", "time", "reached", "position", "policy", "stored"]


@fact(needs="member")
def handovers(history: History) -> DataFrame:
    """One row per assignment and record between what the group had reached before it and where it began.

    Columns: process, op, generation, time (ns, its completion), reached, position, offset; policy: the member's
    auto.offset.reset; stored: whether a commit of the group had taken effect before; polled: by any member of the
    group at any time; there: polled after the assignment, by any process with the isolation level of the group, and
    not, without read_committed, of a transaction that was aborted or that may have been.
    """
    gaps = assignments_above(history)
    of = members(history).withColumn("mine", F.lit(True))
    # The replica that one member read may have been compacted, and that which a later reader got not yet.
    polls = without_compacted(certain_polls(history), history)
    visible = "invoked > time and (coalesce(committed, false) or not coalesce(careful, true))"
    return (
        polls.selectExpr(*LOG, "process as poller", "offset", "invoked", "committed")
        .join(F.broadcast(gaps), LOG)
        .where("offset between reached and position - 1")
        .join(F.broadcast(isolation(history)), ["run", "group"], "left")
        .join(F.broadcast(of.withColumnRenamed("process", "poller")), ["run", "group", "poller"], "left")
        .groupBy(*ASSIGNMENT, "offset")
        .agg(
            F.expr("bool_or(coalesce(mine, false))").alias("polled"),
            F.expr(f"bool_or({visible})").alias("there"),
        )
    )


def assignments_above(history: History) -> DataFrame:
    """The assignments whose position is above what the group had reached: the columns of `ASSIGNMENT`.

    The fact needs the records between both, and no others. A group that starts for the first time, with
    auto.offset.reset=earliest and without a commit, has reached 0: it starts at the log start.
    """
    return history.shared_rows("assignments_above", _assignments_above)


def _assignments_above(history: History) -> DataFrame:
    began = assignments(history).selectExpr(
        *GROUP_LOG, "process", "op", "generation", "invoked", "completed as time", f"{BEGINS} as kind",
        "start_offset as reached", "policy",
    )  # fmt: skip
    earlier = (
        reaches(history).selectExpr(*GROUP_LOG, "known as time", "reached").withColumn("kind", F.lit(REACHES))
    )
    line = Window.partitionBy(*GROUP_LOG).orderBy("time", "kind", "op").rowsBetween(UNBOUNDED, -1)
    tried = commits(history).where("type <> 'fail'").groupBy(*GROUP_LOG).agg(F.min("invoked").alias("tried"))
    done = binding_commits(history).groupBy(*GROUP_LOG).agg(F.min("completed").alias("done"))
    first = "if(policy = 'earliest' and coalesce(time < tried, true), 0, null)"
    return (
        began.unionByName(earlier, allowMissingColumns=True)
        .withColumn("position", F.col("reached"))
        .withColumn("reached", F.max("reached").over(line))
        .where(f"kind = {BEGINS}")
        .join(F.broadcast(tried), GROUP_LOG, "left")
        .join(F.broadcast(done), GROUP_LOG, "left")
        .withColumn("reached", F.expr(f"coalesce(reached, {first})"))
        .where("reached < position")
        .withColumn("stored", F.expr("coalesce(done < invoked, false)"))
        .select(*ASSIGNMENT)
    )
