"""Rows of one process to its segments, in a form that a SIGKILL at any moment leaves readable."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from io import FileIO
from pathlib import Path
from typing import Any

import pyarrow as pa

from workloads.history.schema import TABLES
from workloads.history.segments import segment

Row = tuple[Any, ...]

ROWS = 4096
AGE = 0.25
"""Limits of what a crash can cost: rows, and seconds since the oldest row not yet handed over."""


SEGMENT_BYTES = 64 << 20
SEGMENT_AGE = 20.0
"""A segment is sealed when it has so many bytes, or has been open for so many seconds and has rows."""


class Writer:
    """Appends rows to Arrow IPC streams, one segment after another (see `segments`). Thread-safe.

    directory  the history's; its ``segments`` are made as needed.
    table      a name in `schema.TABLES`; rows are tuples in that schema's order.
    process    never used twice for a table: FileExistsError.
    rows, age  a flush happens by itself at so many rows, and at the append that finds the oldest row
               `age` seconds old. There is no timer: who stops appending flushes.
    segment_bytes, segment_age
               a flush that leaves the segment this large, or this many seconds old, seals it; the next
               row begins another. So does a flush without rows: who is idle flushes now and then.
    """

    def __init__(
        self,
        directory: Path,
        table: str,
        process: int,
        *,
        rows: int = ROWS,
        age: float = AGE,
        segment_bytes: int = SEGMENT_BYTES,
        segment_age: float = SEGMENT_AGE,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._schema = TABLES[table]
        self._limits = (rows, age)
        self._segment_limits = (segment_bytes, segment_age)
        self._clock = clock
        self._lock = threading.Lock()
        self._rows: list[Row] = []
        self._oldest = 0.0
        self._place = (directory, table, process)
        self._number = 0
        self._begun = 0.0
        self._size = 0
        self._closed = False
        path = segment(*self._place)
        path.parent.mkdir(parents=True, exist_ok=True)
        if path.exists():
            raise FileExistsError(f"{path}: process {process} has written this table before")
        self._file: FileIO | None = self._open()

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
        """Flush and seal. May be called again."""
        with self._lock:
            if not self._closed:
                self._flush()
                self._seal()
                self._closed = True

    def _flush(self) -> None:
        if self._rows:
            if self._closed:
                raise ValueError(f"{segment(*self._place, self._number)}: is closed, and there are rows left")
            self._file = self._file or self._open()
            columns = [
                pa.array(column, field.type)
                for column, field in zip(zip(*self._rows, strict=True), self._schema, strict=True)
            ]
            self._rows = []
            self._put(self._file, pa.record_batch(columns, schema=self._schema).serialize())
            self._filled = True
        size, age = self._segment_limits
        if self._filled and (self._size >= size or self._clock() - self._begun >= age):
            self._seal()

    def _open(self) -> FileIO:
        # Unbuffered: what write() took belongs to the operating system and outlives this process.
        file = segment(*self._place, self._number, sealed=False).open("xb", buffering=0)
        self._begun, self._size, self._filled = self._clock(), 0, False
        self._put(file, self._schema.serialize())
        return file

    def _seal(self) -> None:
        if self._file is not None:
            self._file.close()
            place = (*self._place, self._number)
            segment(*place, sealed=False).rename(segment(*place))
            self._file, self._filled = None, False
            self._number += 1

    def _put(self, file: FileIO, message: pa.Buffer) -> None:
        # A batch is one message of the stream format; written whole, so that a crash cuts at most one.
        rest = memoryview(message)
        self._size += len(rest)
        while rest:
            rest = rest[file.write(rest) :]
