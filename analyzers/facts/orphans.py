"""Per time for which a partition had no owner although its group had live members."""

from __future__ import annotations

from pyspark.sql import DataFrame, Window
from pyspark.sql import functions as F

from analyzers.facts.fact import fact
from analyzers.facts.members import (
    ENDLESS,
    GROUP_LOG,
    UNBOUNDED,
    assignments,
    commits,
    deaths,
    events,
    members,
)
from analyzers.history.load import History


@fact(needs="member")
def orphans(history: History) -> DataFrame:
    """One row per time without an owner during which at every moment some member was alive.

    Columns: group, began, lasted (ns).
    """
    gaps = _unowned(history)
    return (
        gaps.join(_alive(history), ["run", "group"])
        .withColumn("began", F.expr("greatest(began, born)"))
        .withColumn("lasted", F.expr("least(over, gone) - began"))
        .where("lasted > 0")
        .select(*GROUP_LOG, "began", "lasted")
    )


def _unowned(history: History) -> DataFrame:
    """Between assignments and after the last one: group and log, began, over (ns)."""
    owned = assignments(history).selectExpr(
        *GROUP_LOG, "invoked as opens", f"coalesce(ended, {ENDLESS}L) as closes"
    )
    line = Window.partitionBy(*GROUP_LOG).orderBy("opens", "closes")
    sofar = owned.withColumn("began", F.max("closes").over(line.rowsBetween(UNBOUNDED, 0)))
    following = sofar.withColumn("over", F.coalesce(F.lead("opens").over(line), F.lit(ENDLESS)))
    return following.where("began < over").select(*GROUP_LOG, "began", "over")


def _alive(history: History) -> DataFrame:
    """Per group, the times at which it certainly had a member (ns): from born, its first event, to gone, its last."""
    one = ["run", "group", "process"]
    signs = (
        events(history)
        .select(*one, "event", "invoked", "completed")
        .unionByName(
            commits(history).selectExpr(*one, "'commit' as event", "invoked", "invoked as completed")
        )
        .unionByName(deaths(history).join(members(history), ["run", "process"]))
        .withColumn("end", F.expr("event in ('left', 'fenced', 'died')"))
    )
    own = Window.partitionBy(*one).orderBy("invoked", "completed", "event")
    lives = (
        signs.withColumn("life", F.expr("count_if(end)").over(own.rowsBetween(UNBOUNDED, -1)))
        .groupBy(*one, "life")
        .agg(F.expr("min(completed) filter (where not end)").alias("born"), F.max("invoked").alias("gone"))
        .where("born < gone")
    )
    line = Window.partitionBy("run", "group").orderBy("born", "gone")
    return (
        lives.withColumn("before", F.max("gone").over(line.rowsBetween(UNBOUNDED, -1)))
        .withColumn(
            "number", F.expr("count_if(before is null or before < born)").over(line.rowsBetween(UNBOUNDED, 0))
        )
        .groupBy("run", "group", "number")
        .agg(F.min("born").alias("born"), F.max("gone").alias("gone"))
        .drop("number")
    )
