"""The facts that the checks share, about each value and each place in the logs."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import reduce
from pathlib import Path

from pyspark.sql import DataFrame, SparkSession, Window
from pyspark.sql import functions as F

from analyzers.history.sources import spark_schema
from analyzers.spark.exact_paths import parquet_files
from workloads.history.jepsen.tables import OPERATIONS, RECORDS

VALUE = ["run", "key", "value"]
"""The columns that identify a value, which is unique for its key."""


@dataclass(frozen=True, kw_only=True)
class Tables:
    operations: DataFrame
    """`workloads.history.jepsen.tables.OPERATIONS`"""
    records: DataFrame
    """`RECORDS`, and of its value: place (index, null: unknown), failed, writer (see `values`)."""
    values: DataFrame
    """See `_values`."""
    order: DataFrame
    """See `_order`."""
    proved: DataFrame
    """run, pos: info operations of which an ok poll returned a value."""


@contextmanager
def tables(spark: SparkSession, folder: Path, *, without: Collection[int]) -> Iterator[Tables]:
    """The tables in a folder that `workloads.history.jepsen.tables.write` wrote, `without` some runs."""
    operations = _read(spark, folder / "operations.parquet", OPERATIONS, without)
    records = _read(spark, folder / "records.parquet", RECORDS, without)
    kept: list[DataFrame] = []

    def keep(frame: DataFrame) -> DataFrame:
        kept.append(frame.persist())
        return kept[-1]

    try:
        # From here on, grouping and joining by key needs no shuffle.
        records = keep(records.repartition("run", "key"))
        known = _known(records)
        proved = keep(_proved(records, known))
        placed = _placed(records, proved)
        order = keep(_order(placed))
        values = keep(_values(known, placed, order))
        of_value = values.select(*VALUE, "place", "failed", "writer")
        yield Tables(
            operations=operations,
            records=keep(records.join(of_value, VALUE, "left")),
            values=values,
            order=order,
            proved=proved,
        )
    finally:
        for frame in kept:
            frame.unpersist()


def _read(spark: SparkSession, file: Path, schema: object, without: Collection[int]) -> DataFrame:
    rows = parquet_files(spark, [str(file)], spark_schema(schema))
    return rows.where(~F.col("run").isin(*without)) if without else rows


def _known(records: DataFrame) -> DataFrame:
    """Per value: ok_read, ok_sent, failed (bools: by any such operation), reader (pos of the first that polled it),
    writer (pos, last, type, at of the last that sent it, and negative its first micro-operation)."""
    return (
        records.where("value is not null")
        .groupBy(*VALUE)
        .agg(
            F.expr("max(call = 'poll' and type = 'ok')").alias("ok_read"),
            F.expr("max(call = 'send' and type = 'ok')").alias("ok_sent"),
            F.expr("max(call = 'send' and type = 'fail')").alias("failed"),
            F.expr("min(pos) filter (where call = 'poll')").alias("reader"),
            F.expr("max(struct(pos, -mop as last, type, at)) filter (where call = 'send')").alias("writer"),
        )
    )


def _proved(records: DataFrame, known: DataFrame) -> DataFrame:
    """Operations of unknown outcome that took effect: one of their values was read, and a transaction is atomic."""
    seen = known.where("ok_read").select(*VALUE)
    return (
        records.where("call = 'send' and type = 'info'")
        .join(seen, VALUE, "left_semi")
        .select("run", "pos")
        .distinct()
    )


def _placed(records: DataFrame, proved: DataFrame) -> DataFrame:
    """The values at each offset: run, key, offset, value, place. The place is the index of the offset without gaps.

    Polls count for every outcome of their operation, because even an aborted one must read correct records. Sends
    count if they took effect.
    """
    known = records.where("offset is not null")
    parts = [
        known.where("call = 'poll' or type = 'ok'"),
        known.where("call = 'send' and type = 'info'").join(proved, ["run", "pos"], "left_semi"),
    ]
    log = Window.partitionBy("run", "key").orderBy("offset")
    there = reduce(
        DataFrame.union, (part.select("run", "key", "offset", "value") for part in parts)
    ).distinct()
    return there.withColumn("place", F.dense_rank().over(log).cast("bigint") - 1)


def _order(placed: DataFrame) -> DataFrame:
    """run, key, place, offset, n (how many values), found (the first of them), value (that represents it), before
    (the value one place before)."""
    log = Window.partitionBy("run", "key").orderBy("place")
    return (
        placed.groupBy("run", "key", "place", "offset")
        .agg(
            F.count("*").alias("n"),
            F.expr("slice(sort_array(collect_list(value)), 1, 1000)").alias("found"),
            F.min("value").alias("value"),
        )
        .withColumn("before", F.lag("value").over(log))
    )


def _values(known: DataFrame, placed: DataFrame, order: DataFrame) -> DataFrame:
    """Per value, the columns of `_known` and: first, last (places where it is found), offsets (a list), and place:
    the last place that it represents (see `_order`)."""
    found = placed.groupBy(*VALUE).agg(
        F.min("place").alias("first"),
        F.max("place").alias("last"),
        F.expr("sort_array(collect_list(offset))").alias("offsets"),
    )
    stands = order.groupBy(*VALUE).agg(F.max("place").alias("place"))
    return known.join(found, VALUE, "full").join(stands, VALUE, "left")
