"""Per send of unknown outcome that a reader got: the first acknowledgement of a higher offset."""

from __future__ import annotations

from pyspark.sql import DataFrame, Window
from pyspark.sql import functions as F

from analyzers.facts.columns import ACKED, LOG, POLLED
from analyzers.facts.fact import fact
from analyzers.history.load import History

UNKNOWN = "f = 'send' and type = 'info'"


@fact(confined_to="value")
def proved_sends(history: History) -> DataFrame:
    """One row per log and value that was sent with completion type info and polled.

    Columns: value; of the send: process, op, invoked (ns); of the polls: offset (the lowest one), time (ns, the first
    completion); and of the send to a higher offset of the log that was acknowledged first: overtaker (its offset)
    and overtaken (ns, its acknowledgement), null if there is none.
    """
    proved = (
        history.records.where(f"value is not null and (({UNKNOWN}) or ({POLLED}))")
        .where(history.value_filter)
        .groupBy(*LOG, "value")
        .agg(
            *(
                F.expr(f"min({name}) filter (where f = 'send') as {name}")
                for name in ("process", "op", "invoked")
            ),
            F.expr("min(offset) filter (where f = 'poll') as offset"),
            F.expr("min(completed) filter (where f = 'poll') as time"),
        )
        .where("invoked is not null and offset is not null")
    )
    acked = history.records.where(f"{ACKED} and offset is not null").selectExpr(
        *LOG, "offset", "completed as acked_at"
    )
    # In descending order of offsets, the higher offsets are the rows before the current one.
    above = Window.partitionBy(*LOG).orderBy(F.desc("offset")).rangeBetween(Window.unboundedPreceding, -1)
    return (
        proved.unionByName(acked, allowMissingColumns=True)
        .withColumn("overtaken", F.min("acked_at").over(above))
        .withColumn("overtaker", F.min_by("offset", "acked_at").over(above))
        .where("value is not null")
        .drop("acked_at")
    )
