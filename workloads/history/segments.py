"""Segments: their names, and the tables that are read from them, also from those of a process that was killed.

A segment ``records-7-0.open.arrows`` is being written: the table, the process that writes it, its number. Sealed, it
is named ``records-7-0.arrows`` and never changes again. The last segment of a process that was killed keeps the name
of an open one.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa

from workloads.history.schema import later_columns

OPEN = ".open.arrows"
SEALED = ".arrows"
NAME = re.compile(r"(?P<table>[a-z]+)-(?P<process>-?\d+)-(?P<number>\d+)(?:\.open)?\.arrows")


def segment(history: Path, table: str, process: int, number: int = 0, *, sealed: bool = True) -> Path:
    """The path of the `number`-th segment of a process."""
    return history / "segments" / f"{table}-{process}-{number}{SEALED if sealed else OPEN}"


def segments(history: Path, table: str, *, sealed: bool = False) -> list[Path]:
    """A table's segments, those of each process in the order in which they were written.

    sealed  only sealed ones, which can be read and judged while the run goes on.
    """
    found = (history / "segments").glob(f"{table}-*{SEALED}")
    return sorted((path for path in found if not (sealed and path.name.endswith(OPEN))), key=_order)


def _order(path: Path) -> tuple[int, int, str]:
    name = NAME.fullmatch(path.name)
    return (int(name["process"]), int(name["number"]), path.name) if name else (0, 0, path.name)


def read(path: Path, schema: pa.Schema) -> pa.Table:
    """The rows of a segment, up to the last complete batch.

    A process that was killed while writing leaves a cut batch at the end, or even a cut schema. What was cut is
    dropped. Columns that were added later (`schema.LATER`) are null. Raises ValueError for a segment of another
    schema.
    """
    return pa.Table.from_batches(batches(path, schema), schema)


def batches(path: Path, schema: pa.Schema) -> Iterator[pa.RecordBatch]:
    """The same rows, batch by batch, with one batch in memory."""
    # Not memory-mapped: mapped pages count as memory of this process, and there may be more of them than memory.
    with pa.OSFile(str(path)) as source:
        try:
            stream = pa.ipc.open_stream(source)
        except (pa.ArrowInvalid, OSError):
            return
        later = [field for field in schema if field.name not in stream.schema.names]
        names, allowed = [field.name for field in later], later_columns(schema)
        if not pa.schema([*stream.schema, *later]).equals(schema) or not allowed.issuperset(names):
            raise ValueError(f"{path}: schema {stream.schema.names}, expected {schema.names}")
        while (batch := _next(stream)) is not None:
            for field in later:
                batch = batch.append_column(field, pa.nulls(len(batch), field.type))
            yield batch


def _next(stream: pa.RecordBatchReader) -> pa.RecordBatch | None:
    try:
        return stream.read_next_batch()
    except (StopIteration, pa.ArrowInvalid, OSError):
        return None


def is_cut(path: Path) -> bool:
    """Whether a segment ends within a batch or within its schema, because its writer was killed."""
    size = path.stat().st_size
    if not size:
        return True
    with pa.memory_map(str(path)) as source:
        # Reads the messages (the first one is the schema) without decoding their content.
        messages = pa.ipc.MessageReader.open_stream(source)
        complete = 0
        try:
            while True:
                messages.read_next_message()
                complete = source.tell()
        except (StopIteration, pa.ArrowInvalid, OSError):
            return bool(complete < size)
