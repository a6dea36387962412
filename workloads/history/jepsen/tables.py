"""Jepsen histories as Parquet tables: a row per completed operation, and a row per record that it sent or polled."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from workloads.history.jepsen.operations import DATA, RESETS, JepsenError, Notes, Op, Unordered, read

OPERATION = [
    ("run", pa.int32()),  # of the file, see `Written`
    ("pos", pa.int64()),  # row in the file, from 0; identifies the operation
    (
        "at",
        pa.int64(),
    ),  # a row between invocation and completion; orders operations as they probably took effect
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
        ("value", pa.string()),  # canonical JSON; null: the poll names the key without any record
        ("rebalanced", pa.bool_()),  # the key is in the operation's rebalance log
    ]
)
"""Records sent and polled by them."""

ROWS = 1 << 16
"""Rows of a row group."""


@dataclass(frozen=True, kw_only=True)
class Written:
    """What of some files is in the tables.

    runs     by position of a file in the call, its `run` there.
    without  runs of which the tables hold a part that does not count.
    failed   by position, why a file could not be read.
    notes    by position, of the other files.
    """

    runs: Mapping[int, int]
    without: Collection[int]
    failed: Mapping[int, str]
    notes: Mapping[int, Notes]


def write(files: Sequence[Path], folder: Path) -> Written:
    """Write all files into ``operations.parquet`` and ``records.parquet`` of a folder."""
    runs: dict[int, int] = {}
    failed: dict[int, str] = {}
    notes: dict[int, Notes] = {}
    without: set[int] = set()
    with (
        _Table(folder / "operations.parquet", OPERATIONS) as operations,
        _Table(folder / "records.parquet", RECORDS) as records,
    ):
        for position, file in enumerate(files):
            # Few files are not in the order of their index. That shows when a part of them is in the tables.
            for run, by_index in ((position, False), (len(files) + position, True)):
                noted = Notes(is_sorted=by_index)
                try:
                    for op in read(file, noted, by_index=by_index):
                        if op.is_client and op.type != "invoke":
                            _add(run, op, operations, records)
                except Unordered:
                    without.add(run)
                    continue
                except JepsenError as error:
                    without.add(run)
                    failed[position] = str(error)
                else:
                    runs[position], notes[position] = run, noted
                break
    return Written(runs=runs, without=without, failed=failed, notes=notes)


def _add(run: int, op: Op, operations: _Table, records: _Table) -> None:
    if op.f not in DATA and op.f not in RESETS:
        return
    row = {"run": run, "pos": op.position, "at": _at(op), "process": op.process, "f": op.f, "type": op.type}
    operations.append(
        **row,
        index=op.index,
        time=op.time,
        invoked=op.invoked,
        invoked_time=op.invoked_time,
        keys=op.keys,
    )
    for seq, pair in enumerate(op.pairs):
        records.append(
            **row,
            call=pair.call,
            mop=pair.mop,
            seq=seq,
            key=pair.key,
            offset=pair.offset,
            value=pair.value,
            rebalanced=pair.key in op.rebalanced,
        )


def _at(op: Op) -> int:
    """Assume that sends take effect at their invocation and polls at their completion: a poll mostly follows its
    sends."""
    return op.invoked if op.f == "send" or op.type == "info" else op.position


class _Table:
    """A Parquet file to which rows are appended by keyword, written `ROWS` at a time."""

    def __init__(self, path: Path, schema: pa.Schema) -> None:
        self._schema = schema
        self._writer = pq.ParquetWriter(path, schema, compression="zstd")
        self._row = row_builder(path.stem, schema.names)
        self._rows: list[Row] = []

    def append(self, **columns: Any) -> None:
        self._rows.append(self._row(**columns))
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


Row = tuple[Any, ...]
"""One value for each column of a table, in the order of its schema."""


def row_builder(table: str, columns: Iterable[str]) -> Callable[..., Row]:
    """A function that takes these columns as keywords and returns a row; a column that is not given is null.

    Its code is generated, as that of a named tuple is: it takes 0.5 µs per row, a merge of dictionaries 1.3 µs.
    """
    names = list(columns)
    parameters = ", ".join(f"{name}=None" for name in names)
    build: Callable[..., Row] = eval(f"lambda *, {parameters}: ({', '.join(names)},)")
    build.__qualname__ = build.__name__ = table  # for the message of a TypeError
    return build
