"""Per record below the start of an assignment: whether any member polled it, and whether it exists."""

from __future__ import annotations

from pyspark.sql import DataFrame, Window
from pyspark.sql import functions as F

from analyzers.facts.columns import LOG
from analyzers.facts.fact import fact
from analyzers.facts.members import GROUP_LOG, UNBOUNDED, assignments, commits, members, of_groups
from analyzers.history.load import History

# Of events in the same nanosecond, what was reached counts for the assignment.
REACHES, BEGINS = 0, 1


@fact(needs="member")
def handovers(history: History) -> DataFrame:
    """One row per assignment and record between what the group had reached before it and where it began.

    Columns: process, op, generation, time (ns, its completion), reached, position, offset; polled: by any member of
    the group at any time; there: polled after the assignment, by any process with the isolation level of the group.
    """
    gaps = _gaps(history).where("reached < position")
    isolation = of_groups(history).groupBy("run", "group").agg(F.expr("bool_or(committed)").alias("careful"))
    of = members(history).withColumn("mine", F.lit(True))
    polls = history.records.where("f = 'poll' and offset is not null")
    visible = "invoked > time and (coalesce(committed, false) or not coalesce(careful, true))"
    return (
        polls.selectExpr(*LOG, "process as poller", "offset", "invoked", "committed")
        .join(F.broadcast(gaps), LOG)
        .where("offset between reached and position - 1")
        .join(F.broadcast(isolation), ["run", "group"], "left")
        .join(F.broadcast(of.withColumnRenamed("process", "poller")), ["run", "group", "poller"], "left")
        .groupBy(*GROUP_LOG, "process", "op", "generation", "time", "reached", "position", "offset")
        .agg(
            F.expr("bool_or(coalesce(mine, false))").alias("polled"),
            F.expr(f"bool_or({visible})").alias("there"),
        )
    )


def _gaps(history: History) -> DataFrame:
    """Per assignment with a position: where it started, and what the group had reached before."""
    began = assignments(history).where("start_offset is not null").selectExpr(
        *GROUP_LOG, "process", "op", "generation", "completed as at", f"{BEGINS} as kind", "start_offset as reached"
    )  # fmt: skip
    polled = (
        of_groups(history)
        .groupBy(*GROUP_LOG, "op")
        .agg(F.max("completed").alias("at"), F.expr("max(offset) + 1").alias("reached"))
        .withColumn("kind", F.lit(REACHES))
        .drop("op")
    )
    resets = commits(history).where("reset and type <> 'fail'")
    resets = resets.selectExpr(*GROUP_LOG, "invoked as at", f"{REACHES} as kind", "offset as reached")
    line = Window.partitionBy(*GROUP_LOG).orderBy("at", "kind", "process", "op").rowsBetween(UNBOUNDED, -1)
    return (
        began.unionByName(polled, allowMissingColumns=True)
        .unionByName(resets, allowMissingColumns=True)
        .withColumn("position", F.col("reached"))
        .withColumn("reached", F.max("reached").over(line))
        .where(f"kind = {BEGINS}")
        .withColumnRenamed("at", "time")
        .drop("kind")
    )
