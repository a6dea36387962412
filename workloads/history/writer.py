"""Rows of one process to one segment, in a form that a SIGKILL at any moment leaves readable."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa

from workloads.history.schema import TABLES

Row = tuple[Any, ...]

ROWS = 4096
AGE = 0.25
"""Limits of what a crash can cost: rows, and seconds since the oldest row not yet handed over."""


def segment(history: Path, table: str, process: int) -> Path:
    """Where a process keeps its rows of a table."""
    return history / "segments" / f"{table}-{process}.arrows"


class Writer:
    """Appends rows to an Arrow IPC stream. Thread-safe.

    directory  the history's; its ``segments`` are made as needed.
    table      a name in `schema.TABLES`; rows are tuples in that schema's order.
    process    never used twice for a table: FileExistsError.
    rows, age  a flush happens by itself at so many rows, and at the append that finds the oldest row
               `age` seconds old. There is no timer: who stops appending flushes.
    """

    def __init__(
        self,
        directory: Path,
        table: str,
        process: int,
        *,
        rows: int = ROWS,
        age: float = AGE,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._schema = TABLES[table]
        self._limits = (rows, age)
        self._clock = clock
        self._lock = threading.Lock()
        self._rows: list[Row] = []
        self._oldest = 0.0
        path = segment(directory, table, process)
        path.parent.mkdir(parents=True, exist_ok=True)
        # Unbuffered: what write() took belongs to the operating system and outlives this process.
        self._file = path.open("xb", buffering=0)
        self._put(self._schema.serialize())

    def append(self, row: Row) -> None:
        """Take a row; on disk after the next flush. Raises ValueError for a row of another width."""
        if len(row) != len(self._schema):
            raise ValueError(f"row of {len(row)} values: the table has {len(self._schema)} columns")
        with self._lock:
            if not self._rows:
                self._oldest = self._clock()
            self._rows.append(row)
            if len(self._rows) >= self._limits[0] or self._clock() - self._oldest >= self._limits[1]:
                self._flush()

    def flush(self) -> None:
        """Hand all rows taken so far to the operating system, as one record batch."""
        with self._lock:
            self._flush()

    def close(self) -> None:
        """Flush and close. May be called again."""
        with self._lock:
            if not self._file.closed:
                self._flush()
                self._file.close()

    def _flush(self) -> None:
        if not self._rows:
            return
        columns = [
            pa.array(column, field.type)
            for column, field in zip(zip(*self._rows, strict=True), self._schema, strict=True)
        ]
        self._rows = []
        self._put(pa.record_batch(columns, schema=self._schema).serialize())

    def _put(self, message: pa.Buffer) -> None:
        # A batch is one message of the stream format; written whole, so that a crash cuts at most one.
        rest = memoryview(message)
        while rest:
            rest = rest[self._file.write(rest) :]
