"""Reads records that are divided into buckets as a bucketed table of Spark (see `workloads.history.parquet`)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from analyzers.history.sources import Source, spark_schema
from analyzers.spark.environment import cores_of
from workloads.history.parquet import BUCKETS, KEY, buckets_of
from workloads.history.schema import TABLES

SHUFFLE_COSTS = 1.7
"""Grouping with a shuffle takes about this many times as long as grouping rows of one bucket."""

FEW_ROWS = 15_000
"""Bytes of a file with a few rows: nearly all of it describes the columns."""


def buckets_to_use(spark: SparkSession, files: Mapping[str, int]) -> int | None:
    """The number of buckets, if all files belong to tables divided in the same way and no bucket is far too large."""
    numbers = {buckets_of(_name(file)) for file in files}
    if len(numbers) != 1 or (buckets := numbers.pop()) is None:
        return None
    sizes: Counter[str] = Counter()
    for file, size in files.items():
        sizes[_name(file)] += max(0, size - FEW_ROWS)
    # One core reads a bucket. If that takes longer than a shuffle, which spreads the rows evenly, shuffling is
    # better.
    fair = sum(sizes.values()) / (cores_of(spark) or BUCKETS // 4)
    return buckets if max(sizes.values()) <= SHUFFLE_COSTS * fair else None


def bucketed_table(spark: SparkSession, name: str, runs: Sequence[Source]) -> DataFrame:
    """Create a table with a partition for each run directory. Only partitioned tables can have buckets in several
    folders."""
    (buckets,) = {buckets_of(_name(file)) for run in runs for file in run.files["records"]}
    folders = _folders(runs)
    columns = spark_schema(TABLES["records"]).toDDL()
    spark.sql(
        f"create table {name} ({columns}, folder int) using parquet partitioned by (folder) "
        f"clustered by ({', '.join(KEY)}) into {buckets} buckets location {_quoted(folders[0])}"
    )
    # One statement: each takes some milliseconds, and there may be thousands of runs.
    places = (
        f"partition (folder = {number}) location {_quoted(each)}" for number, each in enumerate(folders)
    )
    spark.sql(f"alter table {name} add {' '.join(places)}")
    return spark.table(name).drop("folder")


def confined_to(spark: SparkSession, name: str, runs: Sequence[Source], some: Sequence[Source]) -> DataFrame:
    """The part of the table `name` of these runs that lies in the directories of some of them."""
    number = {folder: at for at, folder in enumerate(_folders(runs))}
    numbers = [number[folder] for folder in _folders(some)]
    return spark.table(name).where(F.col("folder").isin(numbers)).drop("folder")


def _folders(runs: Sequence[Source]) -> list[str]:
    return sorted({file.rpartition("/")[0] for run in runs for file in run.files["records"]})


def _name(file: str) -> str:
    return file.rpartition("/")[2]


def _quoted(folder: str) -> str:
    """The folder as a SQL string, not escaped as a URI: Spark escapes it. Escaped twice, it would silently be an
    empty folder."""
    uri = folder if "://" in folder or folder.startswith("file:") else f"file:{folder}"
    return "'" + uri.replace("\\", "\\\\").replace("'", "\\'") + "'"
