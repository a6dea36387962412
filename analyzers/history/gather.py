"""Reads the small files of many runs into one table, outside Spark."""

from __future__ import annotations

import contextlib
from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from analyzers.history.bad_history import BadHistory
from workloads.history.schema import TABLES, later_columns

GATHERED = 50_000
"""Rows of a row group: what one task reads if Spark divides files as it does by default."""


def row_count(files: Iterable[str]) -> int:
    """The number of rows, from the footers."""
    rows = 0
    for file in files:
        with _naming(file):
            rows += pq.read_metadata(file).num_rows
    return rows


def write_gathered(folder: Path, table: str, files: Iterable[str]) -> dict[str, int]:
    """Copy all files of a table into one. Returns its path and size."""
    path = folder / f"{table}.parquet"
    pq.write_table(gathered(files, TABLES[table]), path, compression="lz4", row_group_size=GATHERED)
    return {str(path): path.stat().st_size}


def gathered(files: Iterable[str], schema: pa.Schema) -> pa.Table:
    """The rows of all files in their order.

    Two threads read half of the files each. More threads only wait for the interpreter, and passing small files to a
    thread one by one takes as long as reading them.
    """
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
                tables.append(rows if rows.schema == schema else with_columns_of(rows, schema))
    return tables


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
