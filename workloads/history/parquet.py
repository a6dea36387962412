"""Sorted tables into Parquet files, a row group at a time."""

from __future__ import annotations

from collections.abc import Iterable
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

ROW_GROUP = 500_000


def write(path: Path, tables: Iterable[pa.Table], schema: pa.Schema) -> None:
    """All rows into one file; it is there, with no rows, if there are none."""
    numbers = [field.name for field in schema if field.type == pa.int64()]
    with (
        ThreadPoolExecutor(1) as pool,
        pq.ParquetWriter(
            path,
            schema,
            compression="zstd",
            use_dictionary=[_leaf(field) for field in schema if field.name not in numbers],
            column_encoding=dict.fromkeys(numbers, "DELTA_BINARY_PACKED"),
        ) as writer,
    ):
        # The group before is encoded while the next is merged; never more than these two are held.
        under_way: Future[None] | None = None
        for group in _groups(tables, schema):
            if under_way is not None:
                under_way.result()
            under_way = pool.submit(writer.write_table, group, ROW_GROUP)
        if under_way is not None:
            under_way.result()


def _groups(tables: Iterable[pa.Table], schema: pa.Schema) -> Iterable[pa.Table]:
    held: list[pa.Table] = []
    rows = 0
    for table in tables:
        held.append(table)
        rows += len(table)
        while rows >= ROW_GROUP:
            whole = pa.concat_tables(held)
            yield whole.slice(0, ROW_GROUP)
            held, rows = [whole.slice(ROW_GROUP)], rows - ROW_GROUP
            del whole
    if rows:
        yield pa.concat_tables([schema.empty_table(), *held])


def _leaf(field: pa.Field) -> str:
    return f"{field.name}.list.element" if pa.types.is_list(field.type) else str(field.name)
