"""Dependencies between transactions: the order of their writes and their reads, as far as these may form a cycle."""

from __future__ import annotations

from pyspark.sql import DataFrame, Window
from pyspark.sql import functions as F

from analyzers.facts.columns import LOG
from analyzers.facts.transactional_writes import written
from analyzers.facts.transactions import transactions
from analyzers.history.load import History


def dependencies(history: History) -> DataFrame:
    """One row per dependency of one transaction (target) on another (source).

    Columns: run, topic, partition, kind, source, target. Kinds: ``ww``, where the next known record of a log after
    one of the source is of the target; ``wr``, where the target polled a record of the source with read_committed.
    """
    parts = written(history)
    # The offset in an acknowledgement counts only if the transaction committed, that of a read_committed poll always.
    placed = parts.withColumn("at", F.expr("coalesce(read_offset, if(kind = 'ok', offset, null))"))
    line = Window.partitionBy(*LOG).orderBy("at", "value")
    ww = (
        placed.where("at is not null and kind <> 'fail'")
        .withColumn("source", F.lag("transaction").over(line))
        .selectExpr(*LOG, "'ww' as kind", "source", "transaction as target")
    )
    wr = parts.selectExpr(*LOG, "'wr' as kind", "transaction as source", "explode(within) as target")
    return ww.unionByName(wr).where("source <> target")


def cycle_candidates(history: History, kinds: tuple[str, ...]) -> DataFrame:
    """The dependencies of these kinds that may be part of a cycle, including cycles with realtime edges.

    Columns: run, topic, partition, kind, and source, target: structs of (ended, op, invoked, completed,
    type), where ended (ns) orders all transactions by their ends.

    In that order, a cycle needs at least one dependency that goes back, and lies within the span of such
    dependencies. So only dependencies within the union of these spans are returned, and none where no dependency goes
    back. Realtime edges never go back: a transaction that ended before another one began also ended before it.
    """
    wanted = ", ".join(f"'{kind}'" for kind in kinds)
    node = "struct(coalesce(completed, invoked) as ended, op, invoked, completed, type)"
    nodes = transactions(history).selectExpr("run", "op", f"{node} as node")
    # Of several records that show the same dependency, take the first, so that examples are reproducible.
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
    spans = edges.selectExpr(
        "*", "source > target as is_back", "least(source, target) as low", "greatest(source, target) as high"
    )
    # Of two that begin together, one that goes back comes first, so that the other one lies in its span.
    line = Window.partitionBy("run").orderBy("low", F.desc("is_back"))
    before = line.rowsBetween(Window.unboundedPreceding, -1)
    sofar = line.rowsBetween(Window.unboundedPreceding, 0)
    high = F.expr("if(is_back, high, null)")
    return (
        spans.withColumn("reached", F.max(high).over(before))
        .withColumn("number", F.expr("count_if(reached is null or reached < low)").over(sofar))
        .withColumn("end", F.max(high).over(Window.partitionBy("run", "number")))
        .where("high <= end")
        .drop("is_back", "low", "high", "reached", "number", "end")
    )
