"""Per offset of a log: the values that were ever seen there."""

from __future__ import annotations

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from analyzers.facts.columns import ACKED, LOG, POLLED
from analyzers.load import History


def offsets(history: History) -> DataFrame:
    """One row per log and offset that a poll returned or an acknowledgement named.

    Columns: offset; low, high: the smallest and the largest value there; time (ns): of the last
    acknowledgement there, else of the first poll.
    """
    rows = history.records.where(f"value is not null and offset is not null and (({ACKED}) or ({POLLED}))")
    return rows.groupBy(*LOG, "offset").agg(
        F.min("value").alias("low"),
        F.max("value").alias("high"),
        F.expr("coalesce(max(completed) filter (where f = 'send'), min(completed))").alias("time"),
    )
