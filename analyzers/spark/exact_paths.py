"""Reads files by their paths, also where these have characters in which Spark sees a pattern."""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import reduce

from pyspark.sql import DataFrame, DataFrameReader, SparkSession
from pyspark.sql.types import StructType

PATTERN = re.compile(r"[][{}*?\\]")


def parquet_files(spark: SparkSession, files: Iterable[str], schema: StructType | None = None) -> DataFrame:
    """The rows of Parquet files, at least one, of each file once. schema: None: that of the first one."""
    reader = spark.read.format("parquet")
    return load(reader if schema is None else reader.schema(schema), files)


def load(reader: DataFrameReader, paths: Iterable[str]) -> DataFrame:
    """What the reader loads from all of these paths.

    Spark 4.3.0 has an option not to look for patterns, but with it, each path with such a character makes Spark load
    all paths once more. So these characters are escaped instead. Hadoop cannot look up an escaped path that has a
    colon as well; if there is one, each path is loaded by itself, with the option.
    """
    known = list(paths)
    if any(PATTERN.search(path) and ":" in _without_scheme(path) for path in known):
        by_itself = reader.option("__globPaths__", "false")
        return reduce(DataFrame.union, (by_itself.load(path) for path in known))
    return reader.load([PATTERN.sub(r"\\\g<0>", path) for path in known])


def _without_scheme(path: str) -> str:
    return re.sub(r"^[A-Za-z][A-Za-z0-9+.-]*:(//[^/]*)?", "", path)
