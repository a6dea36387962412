"""What each poll returned of a log: one row in place of one for each record."""

from __future__ import annotations

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from analyzers.facts.columns import LOG, TIME
from analyzers.history.load import History


def poll_spans(history: History) -> DataFrame:
    """One row per poll and log of which it returned an offset. Several facts read it, so it is computed once.

    Columns: those of `LOG`, process, op, generation, assignment, final, committed (the last two are never null), low,
    high (the lowest and the highest offset), began (ns: the first invocation), known (ns: the last completion; if it
    never completed, when it began). May also have rows of runs that are not in this part of a history.
    """
    return history.shared_rows("poll_spans", _poll_spans)


def _poll_spans(history: History) -> DataFrame:
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
