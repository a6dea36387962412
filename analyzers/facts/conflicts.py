"""Per offset with several values: whether one replaced the other over time."""

from __future__ import annotations

from pyspark.sql import DataFrame, Window
from pyspark.sql import functions as F

from analyzers.facts.columns import ACKED, LOG, POLLED, SERVED
from analyzers.facts.fact import fact
from analyzers.history.load import History

# A value replaces another if the other one is not seen any more, and its batch has a later leader epoch. An
# acknowledgement carries no epoch; the later epoch must then be above 0, so that there was one before it.
FOLLOWS = """
    coalesce(last_before < first, false)
    and coalesce(low_epoch > coalesce(epoch_before, 0), false)
"""


@fact(confined_to="offset")
def conflicts(history: History) -> DataFrame:
    """One row per log and offset at which polls and acknowledgements showed more than one value.

    Columns: offset; low, high: the smallest and the largest value; earliest, latest: the one seen first
    and the one seen last, where a polled one was seen when its response arrived; epoch: the leader epoch of
    the latest, where it was polled; reused: whether each value has a later leader epoch than the one before
    it, and was first seen after that was last seen; time (ns): when the latest was first seen; settled
    (ns): the last acknowledgement, else the first poll.
    """
    seen = f"value is not null and offset is not null and (({ACKED}) or ({POLLED}))"
    views = history.records.where(seen).where(history.value_filter)
    if history.value_filter == "true":
        # Only the few values that share an offset are aggregated further. To find these offsets takes another pass
        # over the records, which does not pay where the filter leaves few offsets.
        views = views.join(F.broadcast(_shared(views)), [*LOG, "offset"], "left_semi")
    spans = views.groupBy(*LOG, "offset", "value").agg(
        F.expr(f"min({SERVED}) as first"),
        F.expr(f"max({SERVED}) as last"),
        F.expr("min(leader_epoch) as low_epoch"),
        F.expr("max(leader_epoch) as high_epoch"),
        F.expr("max(completed) filter (where f = 'send') as acked_at"),
        F.expr("min(completed) filter (where f = 'poll') as polled_at"),
    )
    line = Window.partitionBy(*LOG, "offset").orderBy("first", "value")
    return (
        spans.withColumn("last_before", F.lag("last").over(line))
        .withColumn("epoch_before", F.lag("high_epoch").over(line))
        .withColumn("follows", F.expr(f"last_before is null or ({FOLLOWS})"))
        .groupBy(*LOG, "offset")
        .agg(
            F.min("value").alias("low"),
            F.max("value").alias("high"),
            F.expr("min(struct(first, value)).value as earliest"),
            F.expr("max(struct(first, value)).value as latest"),
            F.expr("max(struct(first, value, high_epoch)).high_epoch as epoch"),
            F.expr("bool_and(follows) as reused"),
            F.expr("max(first) as time"),
            F.expr("coalesce(max(acked_at), min(polled_at)) as settled"),
        )
        .where("low < high")
    )


def _shared(views: DataFrame) -> DataFrame:
    """The offsets at which several values were seen. Columns: those of `LOG`, offset."""
    return (
        views.groupBy(*LOG, "offset")
        .agg(F.min("value").alias("low"), F.max("value").alias("high"))
        .where("low < high")
        .select(*LOG, "offset")
    )
