"""Writes sorted tables into Parquet files, one row group at a time."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

ROW_GROUP = 500_000
"""Rows."""

FEW = 10_000
"""Rows up to which a table is compressed with snappy. zstd sets up its state for each column, which takes as long as
the rest of reading a small file and saves hardly a byte. Of what Arrow compresses with lz4, Spark refuses some pages
("all input must be consumed")."""


def write(path: Path, tables: Iterable[pa.Table], schema: pa.Schema) -> None:
    """Write all rows into one file, in row groups as `row_groups` cuts them. Without rows the file has no row
    group."""
    numbers = [field.name for field in schema if field.type == pa.int64()]
    groups = row_groups(tables)
    group = next(groups, None)
    with pq.ParquetWriter(
        path,
        schema,
        compression="snappy" if group is None or len(group) <= FEW else "zstd",
        use_dictionary=[_leaf(field) for field in schema if field.name not in numbers],
        column_encoding=dict.fromkeys(numbers, "DELTA_BINARY_PACKED"),
        write_page_checksum=True,  # otherwise a flipped bit is read as another value
    ) as writer:
        while group is not None:
            writer.write_table(group, ROW_GROUP)
            group = next(groups, None)


def row_groups(tables: Iterable[pa.Table]) -> Iterator[pa.Table]:
    """The same rows in tables of `ROW_GROUP` rows, the last one with fewer; no table if there are no rows."""
    held: list[pa.Table] = []
    rows = 0
    for table in tables:
        held.append(table)
        rows += len(table)
        while rows >= ROW_GROUP:
            whole = pa.concat_tables(held)
            rows -= ROW_GROUP
            # An empty slice would keep the memory of the whole table.
            held = [whole.slice(ROW_GROUP)] if rows else []
            yield whole.slice(0, ROW_GROUP)
            del whole
    if rows:
        yield pa.concat_tables(held)


def _leaf(field: pa.Field) -> str:
    return f"{field.name}.list.element" if pa.types.is_list(field.type) else str(field.name)
