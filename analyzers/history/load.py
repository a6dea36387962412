"""The history's tables as Spark DataFrames."""

from __future__ import annotations

import contextlib
import secrets
import tempfile
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path, PurePosixPath
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql import types as T

from analyzers.history.bad_history import BadHistory
from analyzers.history.sources import Source
from analyzers.spark.session import scratch_of
from analyzers.spark.settings import ONE_PIECE
from workloads.history.layout import BUCKETS, KEY, buckets_of
from workloads.history.schema import TABLES

SHUFFLE_COSTS = 1.7
"""Grouping by way of a shuffle takes about so many times as long as grouping what lies together."""

MANY, FEW_BYTES = 32, 64 << 20
"""So many files that are no larger than this together are put together into one, which is then read over and over."""

GATHERED = 50_000
"""Rows of one of its row groups: what one task reads, as far as Spark divides files as it does by default."""

HANDED_OVER = 256 << 10
"""Bytes of files up to which a history is handed to Spark as rows, which saves it the reading."""


@dataclass(frozen=True, kw_only=True)
class History:
    """One or many runs, in the columns of `workloads.history.schema`."""

    records: DataFrame
    operations: DataFrame
    observations: DataFrame
    registered: str | None = None
    """The name of the table that holds the records, where Spark had to be told of one."""
    scratch: tempfile.TemporaryDirectory[str] | None = None
    """Of files that were put together to be read."""
    value_filter: str = "true"
    """SQL: the records to which a fact about single values or offsets may confine itself (the prefilter)."""

    def sql(self, statement: str) -> DataFrame:
        """What one statement asks of ``{records}``, ``{operations}`` and ``{observations}``.

        Spark analyses a statement once, and a plan that is built of frames with each of its steps: of small
        histories that takes longer than all the rest.
        """
        named = {name: getattr(self, name) for name in TABLES if f"{{{name}}}" in statement}
        return self.records.sparkSession.sql(statement, **named)


def load(spark: SparkSession, runs: Sequence[Source]) -> History:
    """The tables of all runs together. A table without files is empty.

    Records in buckets (see `workloads.history.layout`) are read so that Spark knows of them; what is grouped by log
    then needs no shuffle. `release` what is no longer needed.
    """
    tables = {table: _files(runs, table) for table in TABLES}
    here = all(run.local for run in runs)
    frames: dict[str, Any]
    size = sum(size for files in tables.values() for size in files.values())
    if here and size <= HANDED_OVER:
        frames = {table: _handed_over(spark, table, files).coalesce(1) for table, files in tables.items()}
        return History(**frames)
    name = f"kafkacheck_{secrets.token_hex(8)}" if _by_bucket(spark, tables["records"]) else None
    scratch = None
    if here and any(_scattered(files) for files in tables.values()):
        scratch = tempfile.TemporaryDirectory(prefix="kafkacheck-gathered-", dir=scratch_of(spark))
        tables = {
            table: _put_together(Path(scratch.name), table, files) if _scattered(files) else files
            for table, files in tables.items()
        }
    frames = {table: _read(spark, table, files) for table, files in tables.items()}
    if here and size <= FEW_BYTES and _rows_of(tables["records"]) <= ONE_PIECE:
        return History(**{table: frame.coalesce(1) for table, frame in frames.items()}, scratch=scratch)
    frames["scratch"] = scratch
    if name:
        records = _bucketed(spark, name, runs)
        # A folder that Spark cannot find counts as an empty one there: rows must never go missing unnoticed.
        if len(records.inputFiles()) == len(tables["records"]):
            return replace(History(**frames), records=records, registered=name)
        spark.sql(f"drop table {name}")
    return History(**frames)


def release(spark: SparkSession, history: History) -> None:
    """Forget the table that Spark was told of, and remove what was put together. No file of a run is touched."""
    if history.registered:
        spark.sql(f"drop table if exists {history.registered}")
    if history.scratch:
        history.scratch.cleanup()


def spark_schema(schema: pa.Schema) -> T.StructType:
    """Raises TypeError for a type that the history does not use."""
    return T.StructType([T.StructField(field.name, _spark_type(field.type)) for field in schema])


def _files(runs: Sequence[Source], table: str) -> dict[str, int]:
    return {file: size for run in runs for file, size in run.files[table].items()}


def _scattered(files: Mapping[str, int]) -> bool:
    """Whether every scan of every check would open many files, none of them of any size."""
    return len(files) >= MANY and sum(files.values()) <= FEW_BYTES


def _rows_of(files: Iterable[str]) -> int:
    rows = 0
    for file in files:
        with _naming(file):
            rows += pq.read_metadata(file).num_rows
    return rows


def _put_together(folder: Path, table: str, files: Iterable[str]) -> dict[str, int]:
    place = folder / f"{table}.parquet"
    pq.write_table(_gathered(files, TABLES[table]), place, compression="lz4", row_group_size=GATHERED)
    return {str(place): place.stat().st_size}


def _read(spark: SparkSession, table: str, files: Mapping[str, int]) -> DataFrame:
    schema = spark_schema(TABLES[table])
    if not files:
        # Not createDataFrame: of rows, even of none, it makes work for a Python process of its own.
        nulls = (F.lit(None).cast(field.dataType).alias(field.name) for field in schema)
        return spark.range(0).select(*nulls)
    # A run directory may be named anything: brackets and colons are no patterns here.
    return spark.read.schema(schema).option("__globPaths__", "false").parquet(*files)


def _handed_over(spark: SparkSession, table: str, files: Iterable[str]) -> DataFrame:
    schema = TABLES[table]
    return spark.createDataFrame(_gathered(files, schema), spark_schema(schema))


def _gathered(files: Iterable[str], schema: pa.Schema) -> pa.Table:
    """In the order of the files. By two threads, for more only wait for the interpreter, and a half of all for each:
    to hand them small files one by one takes as long as to read these."""
    everything = list(files)
    middle = len(everything) // 2
    halves = (everything[:middle], everything[middle:])
    with ThreadPoolExecutor(len(halves)) as pool:
        tables = [table for half in pool.map(partial(_rows, schema=schema), halves) for table in half]
    return pa.concat_tables(tables).combine_chunks()


def _rows(files: Iterable[str], *, schema: pa.Schema) -> list[pa.Table]:
    tables = [schema.empty_table()]
    for file in files:
        with _naming(file):
            parquet = pq.ParquetFile(file, pre_buffer=False, page_checksum_verification=True)
            if parquet.metadata.num_rows:
                rows = parquet.read(use_threads=False)
                tables.append(rows if rows.schema == schema else rows.select(schema.names).cast(schema))
    return tables


@contextlib.contextmanager
def _naming(file: str) -> Iterator[None]:
    """What goes wrong with a file does not tell which one it was."""
    try:
        yield
    except (OSError, pa.ArrowException) as error:
        raise BadHistory(file, f"it cannot be read: {error}") from error


def _by_bucket(spark: SparkSession, files: Mapping[str, int]) -> int | None:
    """The number of buckets, where all files are parts of tables divided alike and none is far too large."""
    numbers = {buckets_of(PurePosixPath(file).name) for file in files}
    if len(numbers) != 1 or (buckets := numbers.pop()) is None:
        return None
    sizes: Counter[str] = Counter()
    for file, size in files.items():
        sizes[PurePosixPath(file).name] += size
    # Without rows a file has some size, too: that of the smallest, as a rule.
    least = min(sizes.values())
    # One bucket is read by one core. Where it takes longer than a shuffle, which evens out, it is worse.
    fair = sum(size - least for size in sizes.values()) / _cores(spark)
    return buckets if max(sizes.values()) - least <= SHUFFLE_COSTS * fair else None


def _cores(spark: SparkSession) -> int:
    try:
        return spark.sparkContext.defaultParallelism
    except PySparkException:  # over Spark Connect nobody tells
        return BUCKETS // 4


def _bucketed(spark: SparkSession, name: str, runs: Sequence[Source]) -> DataFrame:
    """A table with a partition for each run directory: the only kind of a table with buckets and several places."""
    (buckets,) = {buckets_of(PurePosixPath(file).name) for run in runs for file in run.files["records"]}
    folders = sorted({file.rpartition("/")[0] for run in runs for file in run.files["records"]})
    columns = spark_schema(TABLES["records"]).toDDL()
    spark.sql(
        f"create table {name} ({columns}, place int) using parquet partitioned by (place) "
        f"clustered by ({', '.join(KEY)}) into {buckets} buckets location {_quoted(folders[0])}"
    )
    for number, folder in enumerate(folders):
        spark.sql(f"alter table {name} add partition (place = {number}) location {_quoted(folder)}")
    return spark.table(name).drop("place")


def _quoted(folder: str) -> str:
    """As it is, for Spark escapes it; escaped twice it would name a folder without files, and be no error."""
    place = folder if "://" in folder or folder.startswith("file:") else f"file:{folder}"
    return "'" + place.replace("\\", "\\\\").replace("'", "\\'") + "'"


def _spark_type(kind: pa.DataType) -> T.DataType:
    if pa.types.is_list(kind):
        return T.ArrayType(_spark_type(kind.value_type))
    simple = {
        pa.string(): T.StringType(),
        pa.int64(): T.LongType(),
        pa.int32(): T.IntegerType(),
        pa.bool_(): T.BooleanType(),
    }
    if kind not in simple:
        raise TypeError(f"no Spark type for {kind}: expected one of {', '.join(map(str, simple))} or a list")
    return simple[kind]
