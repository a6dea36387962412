"""Per record polled: what the same process polled before it, and what anybody did."""

from __future__ import annotations

from pyspark.sql import DataFrame, Window
from pyspark.sql import functions as F

from analyzers.facts.columns import LOG, TIME
from analyzers.load import History


def polls(history: History) -> DataFrame:
    """One row per record polled, of any completion type and with any payload.

    Columns: process, op, offset, previous (see the schema), value, error, time (ns), and below: the
    largest offset under this one that anybody ever polled from the log. A gap from `previous` to
    `offset` skipped a record just when ``below > previous``; so no gap is ever spelt out.
    """
    lower = Window.partitionBy(*LOG).orderBy("offset").rangeBetween(Window.unboundedPreceding, -1)
    return (
        history.records.where("f = 'poll'")
        .selectExpr(*LOG, "process", "op", "offset", "previous", "value", "error", f"{TIME} as time")
        .withColumn("below", F.max("offset").over(lower))
    )
