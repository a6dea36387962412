"""Per record that a member polled below what its group had committed before its assignment."""

from __future__ import annotations

from pyspark.sql import DataFrame, Window
from pyspark.sql import functions as F

from analyzers.facts.fact import fact
from analyzers.facts.members import GROUP_LOG, assignments, committed_before, of_groups, polls_of_groups
from analyzers.history.load import History

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
    return history.shared_rows("assignments_below", _assignments_below)


def _assignments_below(history: History) -> DataFrame:
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
