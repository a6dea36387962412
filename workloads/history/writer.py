"""Writes the rows of one process to its segments, in a form that a SIGKILL at any moment leaves readable.

A worker may be killed by a fault at any time, and its history must survive: a send that the history does not know
could neither be missed nor explained when it turns up in the log. Four decisions follow:

- A row is handed to the operating system with one unbuffered ``write()`` per batch. What ``write()`` took survives
  the process. A crash of the machine is not covered, and so there is no ``fsync``: the run is lost with its cluster
  anyway.
- The format is an Arrow IPC stream, because it has no footer. A Parquet file without its footer cannot be read at
  all; a stream can be read up to its last complete batch.
- The invocation of a send is flushed before the client gets the record. A record in a log therefore always has an
  invocation in the history, and a send without completion counts as unknown (``info``).
- What a member of a group has polled is flushed before it sends a commit. Otherwise the next owner would start behind
  records that no member of the group is known to have polled.

What a SIGKILL leaves: sealed segments, and one open segment per table whose last batch may be cut. The reader drops
the cut batch, and compaction notes the segment in ``format.json``, so that the verdict can say that rows may be
missing.

There are several segments, not one file, so that a run can be judged while it goes on: a sealed segment never changes
again. Compaction is described in `workloads.history.compaction.compact`.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Mapping, Sequence
from io import FileIO
from pathlib import Path
from typing import Any, NamedTuple

import pyarrow as pa

from workloads.history.schema import TABLES
from workloads.history.segments import segment

ROWS = 4096
"""Rows that a crash can cost."""

AGE = 0.25
"""Seconds: the age of the oldest row that a crash can cost."""

TEXT = pa.string()

KEPT = 1024
"""Values of an array that is kept."""

SEGMENT_BYTES = 64 << 20
SEGMENT_AGE = 20.0
"""A segment is sealed when it has this many bytes, or when it has rows and has been open for this many seconds."""


class Writer:
    """Appends rows to Arrow IPC streams, one segment after another (see `segments`). Thread-safe.

    directory  the history's; its folder ``segments`` is made as needed.
    table      a name in `schema.TABLES`.
    process    never used twice for a table: FileExistsError.
    rows, age  a flush happens by itself once there are this many rows, and at the append that finds the oldest row
               `age` seconds old. There is no timer: a process that stops appending has to flush.
    segment_bytes, segment_age
               a flush that leaves the segment this large, or this many seconds old, seals it; the next row begins
               another one. A flush without rows seals as well, so an idle process flushes now and then.
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
        self._rows = Columns(table, self._schema)
        self._oldest = 0.0
        self._directory, self._table, self._process = directory, table, process
        self._number = 0
        self._opened_at = 0.0
        self._size = 0
        self._has_rows = False
        self._is_closed = False
        path = self._path(sealed=True)
        path.parent.mkdir(parents=True, exist_ok=True)
        if path.exists():
            raise FileExistsError(f"{path}: process {process} has written this table before")
        self._file: FileIO | None = self._open()

    def append(self, **columns: Any) -> None:
        """Take a row; columns that are not given are null. It is on disk after the next flush.

        Raises ValueError for a column that the table does not have.
        """
        self.extend(1, columns)

    def extend(
        self, count: int, same: Mapping[str, Any], each: Mapping[str, Sequence[Any]] | None = None
    ) -> None:
        """Take several rows, as `Columns.add` does: cheaper than to append them one by one."""
        with self._lock:
            now = self._clock()
            if not self._rows:
                self._oldest = now
            self._rows.add(count, same, each)
            limit, age = self._limits
            if len(self._rows) >= limit or now - self._oldest >= age:
                self._flush()

    def flush(self) -> None:
        """Hand all rows taken so far to the operating system, as one record batch."""
        with self._lock:
            self._flush()

    def close(self) -> None:
        """Flush and seal. May be called again."""
        with self._lock:
            if not self._is_closed:
                self._flush()
                self._seal()
                self._is_closed = True

    def _flush(self) -> None:
        if self._rows:
            if self._is_closed:
                raise ValueError(f"{self._path(sealed=True)}: is closed, but there are more rows to write")
            self._file = self._file or self._open()
            self._put(self._file, self._rows.take().serialize())
            self._has_rows = True
        size, age = self._segment_limits
        if self._has_rows and (self._size >= size or self._clock() - self._opened_at >= age):
            self._seal()

    def _open(self) -> FileIO:
        # Unbuffered: what write() took belongs to the operating system and outlives this process.
        file = self._path(sealed=False).open("xb", buffering=0)
        self._opened_at, self._size, self._has_rows = self._clock(), 0, False
        self._put(file, self._schema.serialize())
        return file

    def _seal(self) -> None:
        if self._file is not None:
            self._file.close()
            self._path(sealed=False).rename(self._path(sealed=True))
            self._file, self._has_rows = None, False
            self._number += 1

    def _path(self, *, sealed: bool) -> Path:
        return segment(self._directory, self._table, self._process, self._number, sealed=sealed)

    def _put(self, file: FileIO, message: pa.Buffer) -> None:
        # A batch is one message of the stream, so a crash cuts at most one batch.
        rest = memoryview(message)
        self._size += len(rest)
        while rest:
            rest = rest[file.write(rest) :]


class Piece(NamedTuple):
    """Values of one column for consecutive rows from `begin`.

    values  one for each row, or None if all have the value `same`.
    """

    begin: int
    length: int
    values: Sequence[Any] | None
    same: Any


class Kept(NamedTuple):
    """What the last batch had in a column that has one value: most values last for many batches, and a slice takes a
    fifth of the time of a new array. The slice is kept, too: batches of one send at a time have the same length.

    array  a long one, once the value came twice in a row.
    """

    value: Any
    array: pa.Array | None = None
    slice: pa.Array | None = None


class Columns:
    """Rows of a table on their way to a segment, held by column: a column costs nothing for the rows in which it is
    null, and little where consecutive rows have the same value. The segment has all rows, each with all columns. Not
    thread-safe.

    table   its name, for messages.
    schema  its columns.
    """

    def __init__(self, table: str, schema: pa.Schema) -> None:
        self._table, self._schema = table, schema
        self._fields = {field.name: (place, field) for place, field in enumerate(schema)}
        self._pieces: dict[str, list[Piece]] = {}
        """Of the columns that are not null in all rows so far."""
        self._count = 0
        self._kept = dict.fromkeys(self._fields, Kept(None))
        self._nulls: list[pa.Array] = []
        """All columns of the last batch, as if each were null."""

    def __len__(self) -> int:
        return self._count

    def add(
        self, count: int, same: Mapping[str, Any], each: Mapping[str, Sequence[Any]] | None = None
    ) -> None:
        """Take `count` rows. Columns that are not given are null.

        same  columns of which all these rows have one value.
        each  columns with a value for each row. They must not be changed later.
        Raises ValueError for a column that the table does not have, and for another number of values.
        """
        begin, pieces, fields, each = self._count, self._pieces, self._fields, each or {}
        if not (same.keys() <= fields.keys() and each.keys() <= fields.keys()):
            unknown = ", ".join(map(repr, sorted({*same, *each} - fields.keys())))
            raise ValueError(
                f"the table {self._table} has no column {unknown}; its columns are {', '.join(fields)}"
            )
        for name, values in each.items():
            if len(values) != count:
                raise ValueError(f"column {name}: {len(values)} values for {count} rows")
        for name, value in same.items():
            if value is not None:
                pieces.setdefault(name, []).append(Piece(begin, count, None, value))
        for name, values in each.items():
            pieces.setdefault(name, []).append(Piece(begin, count, values, None))
        self._count += count

    def take(self) -> pa.RecordBatch:
        """All rows, in the order in which they were added. Then there are none."""
        count = self._count
        if not self._nulls or len(self._nulls[0]) != count:
            self._nulls = [pa.nulls(count, field.type) for field in self._schema]
        arrays = [*self._nulls]
        for name, pieces in self._pieces.items():
            place, field = self._fields[name]
            arrays[place] = self._array(field, pieces)
        self._pieces = {}
        self._count = 0
        return pa.RecordBatch.from_arrays(arrays, schema=self._schema)

    def _array(self, field: pa.Field, pieces: list[Piece]) -> pa.Array:
        count, first = self._count, pieces[0].same
        if all(piece.values is None and piece.same == first for piece in pieces) and (
            sum(piece.length for piece in pieces) == count
        ):
            return self._repeated(field, first, count)
        values: list[Any] = []
        for begin, length, of, same in pieces:
            if len(values) < begin:
                values += [None] * (begin - len(values))
            if of is None:
                values += [same] * length
            else:
                values += of
        values += [None] * (count - len(values))
        # Most columns of text hold one value, and comparing takes a fifth of the time of converting.
        if field.type == TEXT and count and values.count(values[0]) == count:
            return self._repeated(field, values[0], count)
        return pa.array(values, field.type)

    def _repeated(self, field: pa.Field, value: Any, count: int) -> pa.Array:
        """An array of that value."""
        known, array, part = self._kept[field.name]
        if known != value or type(known) is not type(value):
            self._kept[field.name] = Kept(value)
            return pa.repeat(pa.scalar(value, field.type), count)
        if part is not None and len(part) == count:
            return part
        if array is None or len(array) < count:
            array = pa.repeat(pa.scalar(value, field.type), max(count, KEPT))
        part = array.slice(0, count)
        self._kept[field.name] = Kept(value, array, part)
        return part
