"""Between transactions: who wrote after whom, who read from whom; only where these may form a circle."""

from __future__ import annotations

from pyspark.sql import DataFrame, Window
from pyspark.sql import functions as F

from analyzers.facts.columns import LOG
from analyzers.facts.transactional_writes import written
from analyzers.facts.transactions import transactions
from analyzers.history.load import History


def dependencies(history: History) -> DataFrame:
    """One row per dependency of one transaction (target) on another (source).

    Columns: run, topic, partition, kind (ww: the next record of a log, that is known to be there, is the
    target's; wr: the target polled a record of the source, with read_committed), source, target.
    """
    parts = written(history)
    # Where a record is, an acknowledgement tells only with the commit of it; a reader of committed records always.
    placed = parts.withColumn("at", F.expr("coalesce(read_offset, if(kind = 'ok', offset, null))"))
    line = Window.partitionBy(*LOG).orderBy("at", "value")
    ww = (
        placed.where("at is not null and kind <> 'fail'")
        .withColumn("source", F.lag("transaction").over(line))
        .selectExpr(*LOG, "'ww' as kind", "source", "transaction as target")
    )
    wr = parts.selectExpr(*LOG, "'wr' as kind", "transaction as source", "explode(within) as target")
    return ww.unionByName(wr).where("source <> target")


def circles(history: History, kinds: tuple[str, ...]) -> DataFrame:
    """The dependencies of these kinds that a circle may lie in, also one closed by the order of time.

    Columns: run, topic, partition, kind, and source, target: structs of (ended, op, invoked, completed,
    type), ended being their place in a line of all transactions, in ns.

    All circles of a run lie within connected unions of the spans, in that line, of the dependencies that go
    back in it: whatever else there is, is left out, and where none goes back, there is no circle. The order
    of time never goes back: who ended before another began, ended before the other did.
    """
    wanted = ", ".join(f"'{kind}'" for kind in kinds)
    node = "struct(coalesce(completed, invoked) as ended, op, invoked, completed, type)"
    nodes = transactions(history).selectExpr("run", "op", f"{node} as node")
    # Of several records that tell the same, the first place: examples are the same each time.
    edges = (
        dependencies(history)
        .where(f"kind in ({wanted})")
        .groupBy("run", "kind", "source", "target")
        .agg(F.expr("min(struct(topic, partition)) as place"))
        .select("run", "place.topic", "place.partition", "kind", "source", "target")
    )
    for end in ("source", "target"):
        named = nodes.selectExpr("run", f"op as {end}", f"node as {end}_node")
        edges = edges.join(named, ["run", end]).drop(end).withColumnRenamed(f"{end}_node", end)
    back = edges.where("source > target").selectExpr("run", "target as low", "source as high")
    sofar = Window.partitionBy("run").orderBy("low", "high").rowsBetween(Window.unboundedPreceding, -1)
    after = Window.partitionBy("run").orderBy("low", "high").rowsBetween(Window.unboundedPreceding, 0)
    unions = (
        back.withColumn("reached", F.max("high").over(sofar))
        .withColumn("number", F.expr("count_if(reached is null or reached < low)").over(after))
        .groupBy("run", "number")
        .agg(F.min("low").alias("low"), F.max("high").alias("high"))
    )
    within = F.expr("source between low and high and target between low and high")
    return edges.join(unions, "run").where(within).drop("low", "high", "number")
