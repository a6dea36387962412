"""Reads the small files of many runs into one table, outside Spark."""

from __future__ import annotations

import contextlib
from collections.abc import Iterable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from analyzers.history.sources import Source
from analyzers.history.validate import BadHistory, single_run
from workloads.history.row_copy import Encoded, decode, read_copy
from workloads.history.schema import TABLES, later_columns

Copied = Mapping[str, Encoded]
"""By file, its rows where a copy of them was read instead of the files."""

NO_COPIES: Copied = {}

GATHERED = 50_000
"""Rows of a row group: what one task reads if Spark divides files as it does by default."""


@dataclass(frozen=True, kw_only=True)
class Gathered:
    """What was read of the files of a table."""

    rows: pa.Table
    counts: Mapping[str, int]
    """Rows by file."""

    def write(self, path: Path) -> dict[str, int]:
        """Write the rows into one Parquet file. Returns its path and size."""
        # Spark cannot read some pages that Arrow compresses with lz4: "all input must be consumed".
        pq.write_table(self.rows, path, compression="none", row_group_size=GATHERED)
        return {str(path): path.stat().st_size}


def row_counts(files: Iterable[str], copied: Copied = NO_COPIES) -> dict[str, int]:
    """Rows by file, from the footers of those that have no copy."""
    counts = {}
    for file in files:
        with _naming(file):
            counts[file] = copied[file].rows if file in copied else pq.read_metadata(file).num_rows
    return counts


def only_run(files: Iterable[str]) -> str | None:
    """The run of all rows, if the footers show that there is only one."""
    return next(iter(single_run(map(pq.read_metadata, files)) or ()), None)


def copies(runs: Iterable[Source]) -> Copied:
    """The rows of local runs that have a copy, by file."""
    return {file: rows for run in runs for file, rows in read_copy(run.files).items()}


def gather(files: Iterable[str], table: str, copied: Copied) -> Gathered:
    """The rows of all files. Those of a file keep their order.

    Two threads read half of the files without a copy each. More threads only wait for the interpreter, and passing
    small files to a thread one by one takes as long as reading them.
    """
    schema, everything = TABLES[table], list(files)
    others = [file for file in everything if file not in copied]
    middle = len(others) // 2
    halves = (others[:middle], others[middle:])
    with ThreadPoolExecutor(len(halves)) as pool:
        read = [each for half in pool.map(partial(_read, schema=schema), halves) for each in half]
    filled = [each for each in read if each is not None]
    encoded = decode(copied[file] for file in everything if file in copied)
    tables = [schema.empty_table(), *encoded, *filled]
    rows = pa.concat_tables(tables, promote_options="default").select(schema.names)
    lengths = dict(zip(others, (0 if each is None else len(each) for each in read), strict=True))
    counts = {file: copied[file].rows if file in copied else lengths[file] for file in everything}
    return Gathered(rows=rows.combine_chunks(), counts=counts)


def _read(files: Iterable[str], *, schema: pa.Schema) -> list[pa.Table | None]:
    """The rows of each file; None for one without rows."""
    tables: list[pa.Table | None] = []
    for file in files:
        with _naming(file):
            rows = _rows(file)
            if rows is not None and rows.schema != schema:
                rows = with_columns_of(rows, schema)
            tables.append(rows)
    return tables


def _rows(file: str) -> pa.Table | None:
    parquet = pq.ParquetFile(file, pre_buffer=False, page_checksum_verification=True)
    return parquet.read(use_threads=False) if parquet.metadata.num_rows else None


def with_columns_of(rows: pa.Table, schema: pa.Schema) -> pa.Table:
    """The rows with the columns of the schema, in its order and types; a later column that they lack is null."""
    for name in later_columns(schema) - set(rows.schema.names):
        field = schema.field(name)
        rows = rows.append_column(field, pa.nulls(len(rows), field.type))
    return rows.select(schema.names).cast(schema)


@contextlib.contextmanager
def _naming(file: str) -> Iterator[None]:
    """Turn errors into BadHistory, because they do not say which file they concern."""
    try:
        yield
    except (OSError, pa.ArrowException) as error:
        raise BadHistory(file, f"cannot be read: {error}") from error
