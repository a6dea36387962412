"""How far groups got in logs: what they polled, and where they were reset to."""

from __future__ import annotations

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from analyzers.facts.columns import LOG, MAYBE_ABORTED
from analyzers.facts.members import GROUP_LOG, commits, polls_of_groups
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
    """The polls, of those that `History.offset_filter` leaves, of records that readers with any isolation level get:
    not what a reader without read_committed got of a transaction that was aborted, or of which the outcome is
    unknown.
    """
    polls = history.records.where("f = 'poll'").where(history.offset_filter)
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
