"""The history's tables as Spark DataFrames."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql import types as T

from workloads.history.schema import TABLES


@dataclass(frozen=True, kw_only=True)
class History:
    """One or many runs, in the columns of `workloads.history.schema`."""

    records: DataFrame
    operations: DataFrame
    observations: DataFrame


def load(spark: SparkSession, runs: Sequence[Path]) -> History:
    """Read ``<run>/history/<table>/*.parquet`` of every run directory. A table without files is empty.

    Raises FileNotFoundError for a directory that does not exist, ValueError for none at all.
    """
    if not runs:
        raise ValueError("runs: at least one run directory is needed, got none")
    for run in runs:
        if not run.is_dir():
            raise FileNotFoundError(f"run directory {run} does not exist: nothing to analyse")
    return History(**{table: _read(spark, table, runs) for table in TABLES})


def files(run: Path, table: str) -> list[Path]:
    """The Parquet files of one table of one run, by name."""
    return sorted((run / "history" / table).resolve().glob("*.parquet"))


def is_empty(run: Path) -> bool:
    """Whether neither an operation nor a record was written down."""
    tables = ("records", "operations")
    return not any(pq.read_metadata(file).num_rows for table in tables for file in files(run, table))


def spark_schema(schema: pa.Schema) -> T.StructType:
    """Raises TypeError for a type that the history does not use."""
    return T.StructType([T.StructField(field.name, _spark_type(field.type)) for field in schema])


def _read(spark: SparkSession, table: str, runs: Sequence[Path]) -> DataFrame:
    schema = spark_schema(TABLES[table])
    paths = [str(file) for run in runs for file in files(run, table)]
    if not paths:
        # Not createDataFrame: of rows, even of none, it makes work for a Python process of its own.
        nulls = (F.lit(None).cast(field.dataType).alias(field.name) for field in schema)
        return spark.range(0).select(*nulls)
    # A run directory may be named anything: brackets and colons are no patterns here.
    return spark.read.schema(schema).option("__globPaths__", "false").parquet(*paths)


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
