"""Finds the dependencies between operations that can be part of a cycle.

Operations have a probable order, `at` (see `workloads.history.jepsen.tables`), which agrees with real time. Every
cycle has a dependency that goes back in this order, and lies within a union of overlapping spans of such
dependencies. The rest of the graph is not examined; without a dependency that goes back there is no cycle.
"""

from __future__ import annotations

from dataclasses import dataclass

from pyspark.sql import DataFrame, Window
from pyspark.sql import functions as F

from analyzers.jepsen.tables import VALUE, Tables

BLOCK = 1024
"""Positions in a block. Joining by block avoids comparing every span with every operation."""


@dataclass(frozen=True, kw_only=True)
class Dependencies:
    edges: DataFrame
    """run, span, source, target (operations), kind (ww, wr), key, value, next, source_mop, target_mop, rank."""
    operations: DataFrame
    """run, span, pos, index, type, invoked: operations with a position inside a span."""
    spans: DataFrame
    """run, span, begin, end."""


def edges(tables: Tables, *, ww: bool) -> DataFrame:
    """All dependencies between different operations. Several between the same two differ in rank.

    wr: `source` sent what `target` polled. ww: `source` sent the value one place before one that `target` sent.
    """
    read = tables.records.where("call = 'poll' and writer is not null and writer.pos != pos").selectExpr(
        "run",
        "'wr' as kind",
        "writer.pos as source",
        "writer.at as source_at",
        "pos as target",
        "at as target_at",
        "key",
        "value",
        "cast(null as string) as next",
        "-writer.last as source_mop",
        "mop as target_mop",
        "seq as rank",
    )
    return read.union(_writes(tables)) if ww else read


def _writes(tables: Tables) -> DataFrame:
    writer = tables.values.where("writer is not null")
    order = tables.order.where("before is not null").select("run", "key", "place", "before")
    later = writer.where("place > 0").select(*VALUE, "place", F.col("writer").alias("target"))
    earlier = writer.selectExpr("run", "key", "value as before", "writer as source")
    pairs = later.join(order, ["run", "key", "place"]).join(earlier, ["run", "key", "before"])
    return pairs.where("source.pos != target.pos").selectExpr(
        "run",
        "'ww' as kind",
        "source.pos as source",
        "source.at as source_at",
        "target.pos as target",
        "target.at as target_at",
        "key",
        "before as value",
        "value as next",
        "-source.last as source_mop",
        "-target.last as target_mop",
        "cast(-target.last as bigint) as rank",
    )


def spans(edges: DataFrame) -> DataFrame:
    """Unions of overlapping spans of dependencies that go back: run, span, begin, end."""
    back = edges.where("target_at < source_at").groupBy("run", F.col("target_at").alias("begin"))
    line = Window.partitionBy("run").orderBy("begin")
    earlier = line.rowsBetween(Window.unboundedPreceding, -1)
    return (
        back.agg(F.max("source_at").alias("end"))
        .withColumn("reached", F.max("end").over(earlier))
        .withColumn("span", F.sum(F.expr("int(reached is null or reached < begin)")).over(line))
        .groupBy("run", "span")
        .agg(F.min("begin").alias("begin"), F.max("end").alias("end"))
    )


def parts_with_cycles(tables: Tables, edges: DataFrame, spans: DataFrame) -> Dependencies:
    """The part of the graph that can contain cycles."""
    blocks = spans.withColumn("block", F.expr(f"explode(sequence(begin div {BLOCK}, end div {BLOCK}))"))
    inside = (
        edges.withColumn("block", F.expr(f"source_at div {BLOCK}"))
        .join(blocks, ["run", "block"])
        .where("source_at between begin and end and target_at between begin and end")
    )
    operations = (
        tables.operations.where("f in ('send', 'poll', 'txn')")
        .withColumn("block", F.expr(f"at div {BLOCK}"))
        .join(blocks, ["run", "block"])
        .where("at between begin and end")
        .select("run", "span", "pos", "index", "type", "invoked")
    )
    columns = ["kind", "source", "target", "key", "value", "next", "source_mop", "target_mop", "rank"]
    return Dependencies(edges=inside.select("run", "span", *columns), operations=operations, spans=spans)
