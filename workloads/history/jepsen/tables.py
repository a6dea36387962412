"""Jepsen histories as tables: one row per operation, and one per record that it sent or polled."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from workloads.history.jepsen.operations import DATA, RESETS, JepsenError, Op, read

OPERATION = [
    ("run", pa.int32()),  # which of the files
    ("pos", pa.int64()),  # row in the file, from 0: the operation's name
    ("at", pa.int64()),  # a row between invocation and completion: the operations in a likely order
    ("process", pa.int64()),
    ("f", pa.string()),  # send | poll | txn | assign | subscribe
    ("type", pa.string()),  # ok | fail | info
]
OPERATIONS = pa.schema(
    [
        *OPERATION,
        ("index", pa.int64()),
        ("time", pa.int64()),  # ns
        ("invoked", pa.int64()),  # row of the invocation
        ("invoked_time", pa.int64()),  # ns
        ("keys", pa.list_(pa.string())),  # of assign and subscribe
    ]
)
"""Completed operations of clients."""

RECORDS = pa.schema(
    [
        *OPERATION,
        ("call", pa.string()),  # send | poll
        ("mop", pa.int32()),  # position of the micro-operation
        ("seq", pa.int64()),  # position among the records of the operation
        ("key", pa.string()),
        ("offset", pa.int64()),  # null: unknown
        ("value", pa.string()),  # canonical JSON; null: the poll named the key, and no record
        ("rebalanced", pa.bool_()),  # the key is in the operation's rebalance log
    ]
)
"""What was sent and polled."""

ROWS = 1 << 16


def write(files: Sequence[Path], folder: Path) -> dict[int, str]:
    """Write all files into ``operations.parquet`` and ``records.parquet`` of a folder; a run is a file's position.

    Returns why some files could not be read, by run; some rows of theirs may be in the tables all the same.
    """
    failed: dict[int, str] = {}
    with (
        _Table(folder / "operations.parquet", OPERATIONS) as operations,
        _Table(folder / "records.parquet", RECORDS) as records,
    ):
        for run, file in enumerate(files):
            try:
                for op in read(file):
                    if op.client and op.type != "invoke":
                        _add(run, op, operations, records)
            except JepsenError as error:
                failed[run] = str(error)
    return failed


def _add(run: int, op: Op, operations: _Table, records: _Table) -> None:
    if op.f not in DATA and op.f not in RESETS:
        return
    row = (run, op.position, _at(op), op.process, op.f, op.type)
    operations.append((*row, op.index, op.time, op.invoked, op.invoked_time, op.keys))
    for seq, pair in enumerate(op.pairs):
        records.append(
            (*row, pair.call, pair.mop, seq, pair.key, pair.offset, pair.value, pair.key in op.rebalanced)
        )


def _at(op: Op) -> int:
    """Sends take effect as early, and polls as late as they can; so what depends mostly comes later."""
    return op.invoked if op.f == "send" or op.type == "info" else op.position


class _Table:
    """A Parquet file, written some rows at a time."""

    def __init__(self, path: Path, schema: pa.Schema) -> None:
        self._schema = schema
        self._writer = pq.ParquetWriter(path, schema, compression="zstd")
        self._rows: list[tuple[Any, ...]] = []

    def append(self, row: tuple[Any, ...]) -> None:
        self._rows.append(row)
        if len(self._rows) >= ROWS:
            self._flush()

    def _flush(self) -> None:
        if self._rows:
            columns = zip(zip(*self._rows, strict=True), self._schema, strict=True)
            arrays = [pa.array(column, field.type) for column, field in columns]
            self._writer.write_table(pa.Table.from_arrays(arrays, schema=self._schema))
            self._rows.clear()

    def __enter__(self) -> _Table:
        return self

    def __exit__(self, *_: object) -> None:
        self._flush()
        self._writer.close()
