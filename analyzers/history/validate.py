"""Validates the files of a history on this machine, before anything is concluded from them.

Schemas, null counts and minima come from the footers of the files, so most checks read no data. `validate_rows` reads
the rest.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from analyzers.history.bad_history import BadHistory
from analyzers.history.sources import local_files
from analyzers.history.validate_rows import WORDS, check_rows, refuse_first
from workloads.history.lines.fields import DOUBTS
from workloads.history.schema import FORMAT, TABLES, required_columns

REQUIRED: Mapping[str, tuple[str, ...]] = {
    "records": ("run", "op", "index", "process", "f", "type", "invoked", "topic", "partition"),
    "operations": ("run", "op", "process", "f", "type", "invoked"),
    "observations": ("run", "process", "time", "kind"),
}
"""Columns that must not have nulls."""

NOT_NEGATIVE: Mapping[str, tuple[str, ...]] = {
    "records": ("index", "process", "partition", "offset"),
    "operations": (),
    "observations": (),
}


def run_ids(home: Path) -> frozenset[str]:
    """The ids of the runs in a run directory. Raises BadHistory for the first problem in its files."""
    manifest = _format(home)
    try:
        found = {table: local_files(home, table) for table in TABLES}
    except OSError as error:
        raise BadHistory(error.filename or home, f"cannot be read ({error.strerror})") from error
    if not any(found.values()):
        raise BadHistory(
            home / "history",
            f"holds no table of a history: expected {', '.join(f'{table}/*.parquet' for table in TABLES)}",
        )
    runs: set[str] = set()
    rows: dict[str, dict[str, int]] = {table: {} for table in TABLES}
    for table, paths in found.items():
        for path in paths:
            ids, rows[table][path.name] = _check(path, table)
            runs |= ids
    check_complete(home / "history", manifest, rows)
    return frozenset(runs)


def check_complete(
    history: Path | str, manifest: Mapping[str, Any], rows: Mapping[str, Mapping[str, int]]
) -> None:
    """Raises BadHistory if a file is missing, or has another number of rows than compaction wrote.

    manifest  content of ``format.json``; it lists no files if the tables were not written by compaction.
    rows      by table and name of the files that exist.
    """
    written = manifest.get("rows", {})
    by_table = written.values() if isinstance(written, dict) else [None]
    if not all(
        isinstance(files, dict) and all(isinstance(number, int) for number in files.values())
        for files in by_table
    ):
        raise BadHistory(f"{history}/format.json", f"expected rows by table and file, got {written!r}")
    for table, files in written.items():
        for name, number in files.items():
            file = f"{history}/{table}/{name}"
            if name not in rows.get(table, {}):
                raise BadHistory(file, f"is missing; compaction wrote {number:,} rows into it")
            if (here := rows[table][name]) != number:
                raise BadHistory(file, f"holds {here:,} rows, but compaction wrote {number:,}")


def cut_segments(home: Path) -> tuple[str, ...]:
    """The segments that ended within a batch when they were compacted."""
    return tuple(_format(home).get("cut", ()))


def doubts(home: Path) -> tuple[str, ...]:
    """What an imported history does not contain although a verdict needs it, one sentence each."""
    return tuple(_format(home).get(DOUBTS, ()))


def parse_format(file: Path | str, text: str) -> dict[str, Any]:
    """The content of ``format.json``. Raises BadHistory if it is malformed or of another format."""
    try:
        manifest = json.loads(text)
    except ValueError as error:
        raise BadHistory(file, f"cannot be read as JSON ({error})") from error
    if not isinstance(manifest, dict):
        raise BadHistory(file, f"expected an object, got {manifest!r}")
    if (found := manifest.get("format")) != FORMAT:
        raise BadHistory(file, f"history format {found!r}; this kafkacheck reads format {FORMAT}")
    return manifest


def _format(home: Path) -> dict[str, Any]:
    """The content of ``format.json``; empty if there is no such file."""
    path = home / "history" / "format.json"
    try:
        return parse_format(path, path.read_text(errors="replace"))
    except (FileNotFoundError, NotADirectoryError):
        return {}
    except OSError as error:
        raise BadHistory(path, f"cannot be read ({error.strerror})") from error


def _check(path: Path, table: str) -> tuple[set[str], int]:
    """The ids of the runs in a file, and its number of rows."""
    size = 0
    try:
        size = path.stat().st_size
        if not size:
            raise BadHistory(path, "is empty, not even a Parquet file without rows")
        about = pq.read_metadata(path)
        _check_schema(path, table, about.schema.to_arrow_schema())
        words = ["run", *WORDS[table]]
        with pq.ParquetFile(
            path, read_dictionary=words, metadata=about, pre_buffer=False, page_checksum_verification=True
        ) as file:
            _check_statistics(path, table, file)
            return check_rows(path, table, file), about.num_rows
    except (FileNotFoundError, PermissionError, IsADirectoryError) as error:
        raise BadHistory(path, f"cannot be read ({error.strerror or error})") from error
    except (pa.ArrowException, OSError) as error:
        first = str(error).partition("\n")[0]
        raise BadHistory(path, f"is truncated, or not a Parquet file ({size:,} bytes; {first})") from error


def _check_schema(path: Path, table: str, found: pa.Schema) -> None:
    wanted = TABLES[table]
    if found == wanted:
        return
    missing = [name for name in required_columns(table) if name not in found.names]
    if not set(wanted.names) & set(found.names):
        raise BadHistory(
            path, f"is not a table of a history: its columns are {', '.join(found.names) or 'none'}"
        )
    if missing:
        raise BadHistory(
            path,
            f"lacks the columns {', '.join(missing)} of {table}: another version wrote it, "
            f"this one reads format {FORMAT}",
        )
    for field in wanted:
        if field.name not in found.names:
            continue
        kind = found.field(field.name).type
        plain = kind.value_type if pa.types.is_dictionary(kind) else kind
        if not _is_compatible(plain, field.type):
            raise BadHistory(path, f"column {field.name} is {plain}, expected {field.type}")


def _is_compatible(kind: pa.DataType, wanted: pa.DataType) -> bool:
    if pa.types.is_list(wanted):
        return pa.types.is_list(kind) and bool(kind.value_type == wanted.value_type)
    return bool(kind == wanted) or (pa.types.is_string(wanted) and pa.types.is_large_string(kind))


def _check_statistics(path: Path, table: str, file: pq.ParquetFile) -> None:
    """Check nulls and minima in the footer. A column is read only if the footer does not answer."""
    positions = {file.schema.column(i).path: i for i in range(len(file.schema))}
    first = 0
    for group in range(file.num_row_groups):
        about = file.metadata.row_group(group)
        for name in {*REQUIRED[table], *NOT_NEGATIVE[table]}:
            statistics = about.column(positions[name]).statistics
            is_doubtful = statistics is None or (
                (name in REQUIRED[table] and (not statistics.has_null_count or statistics.null_count > 0))
                or (name in NOT_NEGATIVE[table] and statistics.has_min_max and statistics.min < 0)
            )
            if is_doubtful:
                column = file.read_row_group(group, columns=[name])[name]
                if name in REQUIRED[table]:
                    refuse_first(path, pc.is_null(column), first, f"{name} is null")
                if name in NOT_NEGATIVE[table]:
                    refuse_first(path, pc.less(column, 0), first, f"{name} is negative", column)
        first += about.num_rows
