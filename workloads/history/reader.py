"""Reads segments into tables, also those of a process that was killed while it wrote."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa

from workloads.history.schema import later_columns


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
