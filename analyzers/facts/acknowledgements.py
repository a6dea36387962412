"""Per acknowledged send: the first acknowledgement of a later offset."""

from __future__ import annotations

from pyspark.sql import DataFrame, Window
from pyspark.sql import functions as F

from analyzers.facts.columns import ACKED, LOG
from analyzers.facts.fact import fact
from analyzers.history.load import History


@fact()
def acknowledgements(history: History) -> DataFrame:
    """One row per acknowledged send with an offset.

    Columns: process, op, offset, value, invoked, time (ns, of the acknowledgement), and of the send to a
    higher offset of the log that was acknowledged first: overtaker (its offset) and overtaken (ns, its
    acknowledgement); null if there is none.
    """
    # In descending order of offsets, the higher offsets are the rows before the current one.
    above = Window.partitionBy(*LOG).orderBy(F.desc("offset")).rangeBetween(Window.unboundedPreceding, -1)
    return (
        history.records.where(f"{ACKED} and offset is not null")
        .selectExpr(*LOG, "process", "op", "offset", "value", "invoked", "completed as time")
        .withColumn("overtaken", F.min("time").over(above))
        .withColumn("overtaker", F.min_by("offset", "time").over(above))
    )
