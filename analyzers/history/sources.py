"""The sources of histories: run directories, on this machine or on any file system that Spark reads."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath

import pyarrow.parquet as pq
from pyspark.errors import AnalysisException
from pyspark.sql import SparkSession

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
    return [_remote(spark, run) if is_uri(run) else _local(Path(run)) for run in runs]


def is_uri(run: Location) -> bool:
    """Whether a run lies on a file system that only Spark reads."""
    return isinstance(run, str) and "://" in run


def name_of(run: Location) -> str:
    """The name of the directory, without its parents."""
    return run.rstrip("/").rpartition("/")[2] if isinstance(run, str) else run.name


def is_empty(spark: SparkSession, source: Source) -> bool:
    """Whether its tables have no rows, so that they name no run."""
    files = [file for table in TABLES for file in source.files[table]]
    if source.local:
        return not any(pq.read_metadata(file).num_rows for file in files)
    return not any(
        spark.read.option("__globPaths__", "false").parquet(file).limit(1).count() for file in files
    )


def local_files(run: Path, table: str) -> list[Path]:
    """The Parquet files of a table, sorted by name. Raises OSError for a folder that cannot be listed."""
    folder = (run / "history" / table).resolve()
    try:  # not `glob`, which treats a folder without read permission as empty
        return sorted(folder / name for name in os.listdir(folder) if name.endswith(".parquet"))
    except (FileNotFoundError, NotADirectoryError):
        return []


def _local(run: Path) -> Source:
    if not run.is_dir():
        raise FileNotFoundError(f"run directory {run} does not exist: nothing to analyse")
    files = {table: {str(file): file.stat().st_size for file in local_files(run, table)} for table in TABLES}
    return Source(name=run.name, local=True, files=files)


def _remote(spark: SparkSession, run: Location) -> Source:
    """Spark lists the files, so any file system that it reads is supported. File contents are not read."""
    uri = str(run).rstrip("/")
    listing = spark.read.format("binaryFile").option("__globPaths__", "false")
    files: dict[str, dict[str, int]] = {table: {} for table in TABLES}
    try:
        found = (
            listing.option("recursiveFileLookup", "true")
            .option("pathGlobFilter", "*.parquet")
            .load(uri + "/history")
            .select("path", "length")
            .collect()
        )
    except AnalysisException as error:
        if error.getCondition() != "PATH_NOT_FOUND":
            raise
        raise FileNotFoundError(f"{uri}/history does not exist: nothing to analyse") from error
    for row in sorted(found):
        table = PurePosixPath(row.path).parent.name
        if table in files:
            files[table][row.path] = row.length
    return Source(name=uri.rpartition("/")[2], local=False, files=files)
