"""Finds and validates runs on file systems that only Spark reads.

Schemas, nulls and negative numbers are checked. The checks of rows in `validate` are left out, because they would
bring data to the driver that grows with the history.
"""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import PurePosixPath
from typing import Any
from urllib.parse import unquote, urlsplit

from pyspark.errors import AnalysisException
from pyspark.sql import SparkSession
from pyspark.sql import functions as F

from analyzers.history.sources import listed_files, sources, spark_schema
from analyzers.history.validate import NOT_NEGATIVE, REQUIRED, BadHistory, check_complete, parse_format
from analyzers.spark.exact_paths import load, parquet_files
from analyzers.spark.internals.tuning import restore_defaults
from analyzers.spark.statements import error_summary
from workloads.history.schema import FORMAT, TABLES, required_columns

AT_ONCE = 8
"""Footers that are read at the same time: most of the time is latency."""


def runs_at(spark: SparkSession, uri: str) -> list[str]:
    """The URI of a run directory, or the URIs of the runs in a folder, sorted by name.

    Raises BadHistory if the folder cannot be read or holds no run.
    """
    try:
        rows = listed_files(spark, [uri]).collect()
    except Exception as error:  # each file system raises other errors
        if _is_missing(error):
            raise BadHistory(uri, "no such folder") from error
        raise BadHistory(uri, f"cannot be read ({_reason(error)})") from error
    homes = {parts[0] for row in rows if (parts := _parts(row.path)) is not None}
    itself = [home for home in homes if _path(home) == _path(uri)]
    inside = sorted(home for home in homes if str(PurePosixPath(_path(home)).parent) == _path(uri))
    if not (itself or inside):
        wanted = ", ".join(f"history/{table}/*.parquet" for table in TABLES)
        raise BadHistory(
            uri,
            f"neither a run directory nor a folder of runs: expected {wanted}. Segments of a run that was never "
            f"judged become such tables on the machine that holds them",
        )
    return itself or inside


def text_at(spark: SparkSession, uri: str, name: str) -> str | None:
    """The text of a small file of a run; None if it does not exist. Raises BadHistory if it cannot be read."""
    restore_defaults(spark)
    file = f"{uri.rstrip('/')}/{name}"
    try:
        rows = load(spark.read.format("text").option("wholetext", "true"), [file]).collect()
    except Exception as error:
        if _is_missing(error):
            return None
        raise BadHistory(file, f"cannot be read ({_reason(error)})") from error
    return str(rows[0].value) if rows else ""


def run_ids(spark: SparkSession, uri: str) -> frozenset[str]:
    """The ids of the runs in a run directory. Raises BadHistory for the first problem in its files."""
    manifest = _format(spark, uri)
    try:
        (source,) = sources(spark, [uri])
    except Exception as error:
        raise BadHistory(uri, f"cannot be read ({_reason(error)})") from error
    if not any(source.files.values()):
        wanted = ", ".join(f"{table}/*.parquet" for table in TABLES)
        raise BadHistory(f"{uri}/history", f"holds no table of a history: expected {wanted}")
    runs: set[str] = set()
    rows: dict[str, dict[str, int]] = {}
    for table, files in source.files.items():
        with ThreadPoolExecutor(AT_ONCE) as pool:
            list(pool.map(partial(_check_schema, spark, table), files, files.values()))
        found, rows[table] = _check_rows(spark, table, list(files)) if files else (set(), {})
        runs |= found
    check_complete(f"{uri.rstrip('/')}/history", manifest, rows)
    return frozenset(runs)


def rows_at(spark: SparkSession, uri: str) -> int:
    """Rows of all tables, from the footers; 0 if these cannot be read, which validation reports later."""
    try:
        (source,) = sources(spark, [uri])
        files = [file for of in source.files.values() for file in of]
        return parquet_files(spark, files).count() if files else 0
    except Exception:
        return 0


def cut_segments(spark: SparkSession, uri: str) -> tuple[str, ...]:
    """The segments that ended within a batch when they were compacted."""
    return tuple(_format(spark, uri).get("cut", ()))


def _format(spark: SparkSession, uri: str) -> dict[str, Any]:
    """The content of ``format.json``; empty if there is no such file."""
    text = text_at(spark, uri, "history/format.json")
    return {} if text is None else parse_format(f"{uri.rstrip('/')}/history/format.json", text)


def _check_schema(spark: SparkSession, table: str, file: str, size: int) -> None:
    if not size:
        raise BadHistory(file, "is empty, not even a Parquet file without rows")
    try:
        found = parquet_files(spark, [file]).schema
    except Exception as error:
        raise BadHistory(
            file, f"is truncated, or not a Parquet file ({size:,} bytes; {_reason(error)})"
        ) from error
    wanted = spark_schema(TABLES[table])
    missing = [name for name in required_columns(table) if name not in found.names]
    if missing:
        raise BadHistory(
            file,
            f"lacks the columns {', '.join(missing)} of {table}: it is another table, or another version wrote it; "
            f"this one reads format {FORMAT}",
        )
    for field in wanted:
        if field.name not in found.names:
            continue
        kind = found[field.name].dataType
        if kind.simpleString() != field.dataType.simpleString():
            raise BadHistory(
                file,
                f"column {field.name} is {kind.simpleString()}, expected {field.dataType.simpleString()}",
            )


def _check_rows(spark: SparkSession, table: str, files: Sequence[str]) -> tuple[set[str], dict[str, int]]:
    """The ids of the runs, and the number of rows by file name.

    For invalid rows the message has their count; their numbers are known only for files on this machine.
    """
    problems = {
        **{f"{name} is null": f"`{name}` is null" for name in REQUIRED[table]},
        **{f"{name} is negative": f"`{name}` < 0" for name in NOT_NEGATIVE[table]},
    }
    counts = (f"count_if({sql}) as `{problem}`" for problem, sql in problems.items())
    try:
        rows = (
            parquet_files(spark, files)
            .selectExpr("*", "input_file_name() as `its file`")
            .groupBy("its file")
            .agg(*(F.expr(each) for each in ("collect_set(run) as runs", "count(*) as `its rows`", *counts)))
            .collect()
        )
    except Exception as error:
        raise BadHistory(files[0].rpartition("/")[0], f"cannot be read ({_reason(error)})") from error
    for row in sorted(rows, key=lambda row: str(row["its file"])):
        for problem in problems:
            if row[problem]:
                raise BadHistory(
                    row["its file"], f"{problem} in {row[problem]:,} row{'s' * (row[problem] > 1)}"
                )
    held = dict.fromkeys((_name(file) for file in files), 0)
    held |= {_name(row["its file"]): row["its rows"] for row in rows}
    return {run for row in rows for run in row.runs}, held


def _name(file: str) -> str:
    return file.rpartition("/")[2]


def _parts(file: str) -> tuple[str, str] | None:
    """The run's URI and the table of a file; None for other files."""
    home, _, rest = file.rpartition("/history/")
    table, _, name = rest.partition("/")
    if not home or table not in TABLES or "/" in name:
        return None
    # Spark writes local paths as file:/path, without the authority of a URI.
    return (f"file://{home.removeprefix('file:')}" if home.startswith("file:/") else home), table


def _path(uri: str) -> str:
    return "/" + unquote(urlsplit(uri).path).strip("/")


def _is_missing(error: Exception) -> bool:
    return isinstance(error, AnalysisException) and error.getCondition() == "PATH_NOT_FOUND"


def _reason(error: Exception) -> str:
    return error_summary(str(error)) or type(error).__name__
