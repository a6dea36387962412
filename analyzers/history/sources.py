"""The sources of histories: run directories, on this machine or on any file system that Spark reads, and the schemas
of their tables."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path, PurePosixPath
from urllib.parse import unquote

import pyarrow as pa
import pyarrow.parquet as pq
from pyspark.errors import AnalysisException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import types as T

from analyzers.spark.exact_paths import load, parquet_files
from analyzers.spark.internals.tuning import restore_defaults
from workloads.history.schema import TABLES

Location = Path | str
"""Of a run directory: a path, or a URI such as ``hdfs://host/runs/r1``. Text without ``://`` is a path."""


@dataclass(frozen=True, kw_only=True)
class Source:
    """A run directory. `files`: by table, the paths of its Parquet files with their size in bytes."""

    name: str
    local: bool
    files: Mapping[str, Mapping[str, int]] = field(default_factory=dict)


def sources(spark: SparkSession, runs: Sequence[Location]) -> list[Source]:
    """List the files of run directories. Raises FileNotFoundError for one that does not exist, ValueError for no
    runs."""
    if not runs:
        raise ValueError("runs: at least one run directory is needed, got none")
    remote = iter(_remote(spark, uris) if (uris := [str(run) for run in runs if is_uri(run)]) else ())
    real_path = cache(os.path.realpath)
    return [next(remote) if is_uri(run) else _local(run, real_path) for run in runs]


def is_uri(run: Location) -> bool:
    """Whether a run lies on a file system that only Spark reads."""
    return isinstance(run, str) and "://" in run


def name_of(run: Location) -> str:
    """The name of the directory, without its parents."""
    return run.rstrip("/").rpartition("/")[2] if isinstance(run, str) else run.name


def empty_runs(spark: SparkSession, runs: Iterable[Source], row_counts: Mapping[str, int]) -> list[str]:
    """The names of those whose tables have no rows, so that they name no run.

    row_counts  of those files of which they are known.
    """
    everything = list(runs)
    local = [run for run in everything if run.local and not any(_rows_here(run, row_counts))]
    remote = [run for run in everything if not run.local]
    for table in ("operations", "observations", "records"):  # most have operations
        files = [file for run in remote for file in run.files[table]]
        if len(remote) > 1 and files:
            placed = parquet_files(spark, files).selectExpr("input_file_name() as file").distinct()
            filled = {as_listed(row.file) for row in placed.collect()}
            remote = [run for run in remote if filled.isdisjoint(run.files[table])]
    # And those whose files the file system spells in another way.
    return [run.name for run in (*local, *(each for each in remote if not _has_rows_there(spark, each)))]


def _rows_here(run: Source, row_counts: Mapping[str, int]) -> Iterator[int]:
    for file in _all_files(run):
        yield row_counts[file] if file in row_counts else pq.read_metadata(file).num_rows


def _has_rows_there(spark: SparkSession, run: Source) -> bool:
    return any(parquet_files(spark, [file]).limit(1).count() for file in _all_files(run))


def _all_files(run: Source) -> list[str]:
    return [file for table in TABLES for file in run.files[table]]


def local_files(run: Path, table: str) -> list[Path]:
    """The Parquet files of a table, sorted by name. Raises OSError for a folder that cannot be listed."""
    return [Path(file) for file in _files(os.path.realpath(run), table)]


def _files(run: str, table: str) -> list[str]:
    folder = f"{run}/history/{table}"
    try:  # not `glob`, which treats a folder without read permission as empty
        return sorted(f"{folder}/{name}" for name in os.listdir(folder) if name.endswith(".parquet"))
    except (FileNotFoundError, NotADirectoryError):
        return []


def _local(run: Location, real_path: Callable[[str], str]) -> Source:
    """real_path  of a folder that holds runs."""
    if not os.path.isdir(run):
        raise FileNotFoundError(f"run directory {run} does not exist: nothing to analyse")
    folder, name = os.path.split(run)
    is_link = name in ("", ".", "..") or os.path.islink(run)
    home = os.path.realpath(run) if is_link else os.path.join(real_path(folder), name)
    files = {table: {file: os.stat(file).st_size for file in _files(home, table)} for table in TABLES}
    return Source(name=name or Path(run).name, local=True, files=files)


def listed_files(spark: SparkSession, folders: Sequence[str]) -> DataFrame:
    """The Parquet files in folders and below, without their contents: path, length (bytes)."""
    restore_defaults(spark)
    listing = spark.read.format("binaryFile").option("recursiveFileLookup", "true")
    return load(listing.option("pathGlobFilter", "*.parquet"), folders).select("path", "length")


def _remote(spark: SparkSession, runs: Sequence[str]) -> list[Source]:
    """Spark lists the files of all runs in one job, so any file system that it reads is supported. File contents are
    not read."""
    uris = [run.rstrip("/") for run in runs]
    try:
        rows = listed_files(spark, [f"{uri}/history" for uri in uris]).collect()
    except AnalysisException as error:
        if error.getCondition() != "PATH_NOT_FOUND":
            raise
        if len(uris) > 1:  # which one it is
            return [source for uri in uris for source in _remote(spark, [uri])]
        raise FileNotFoundError(f"{uris[0]}/history does not exist: nothing to analyse") from error
    found = [(*_parts(row.path), row) for row in sorted(rows)]
    homes = {_home(uri): {table: dict[str, int]() for table in TABLES} for uri in uris}
    if len(uris) > 1 and not {home for home, _, _ in found} <= homes.keys():
        # The file system spells them in another way, such as with the name of a host.
        return [source for uri in uris for source in _remote(spark, [uri])]
    for home, table, row in found:
        files = homes[home] if len(uris) > 1 else homes[_home(uris[0])]
        if table in files:
            files[table][row.path] = row.length
    return [Source(name=uri.rpartition("/")[2], local=False, files=homes[_home(uri)]) for uri in uris]


def _parts(file: str) -> tuple[str, str]:
    """The run and the table of a file."""
    home, _, rest = file.rpartition("/history/")
    return _home(home), PurePosixPath(rest).parent.name


def as_listed(uri: str) -> str:
    """The path of a file as Spark lists it, from the URI that Spark says of a row."""
    return _home(unquote(uri))


def _home(uri: str) -> str:
    """The URI of a run as Spark spells it: local paths without an authority, ``file:/path``."""
    return "file:/" + uri.removeprefix("file:").lstrip("/") if uri.startswith("file:") else uri


def spark_schema(schema: pa.Schema) -> T.StructType:
    """Raises TypeError for a type that the history does not use."""
    return T.StructType([T.StructField(field.name, _spark_type(field.type)) for field in schema])


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
        raise TypeError(
            f"no Spark type for the Arrow type {kind}: expected one of {', '.join(map(str, simple))} or a list"
        )
    return simple[kind]
