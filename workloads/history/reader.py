"""Segments back into tables, whatever their writer's end."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa


def read(path: Path, schema: pa.Schema) -> pa.Table:
    """The rows of a segment, up to the last batch that was written whole.

    A process killed in mid-write leaves a cut batch at the end, or not even the schema: what was
    cut is dropped. Raises ValueError for a segment of another schema.
    """
    batches: list[pa.RecordBatch] = []
    # An empty file cannot be mapped.
    if path.stat().st_size:
        with pa.memory_map(str(path)) as source:
            try:
                stream = pa.ipc.open_stream(source)
            except (pa.ArrowInvalid, OSError):
                return schema.empty_table()
            if not stream.schema.equals(schema):
                raise ValueError(f"{path}: schema {stream.schema.names}, expected {schema.names}")
            while (batch := _next(stream)) is not None:
                batches.append(batch)
    return pa.Table.from_batches(batches, schema)


def _next(stream: pa.RecordBatchReader) -> pa.RecordBatch | None:
    try:
        return stream.read_next_batch()
    except (StopIteration, pa.ArrowInvalid, OSError):
        return None


def is_cut(path: Path) -> bool:
    """Whether a segment ends within a batch, or before its first: somebody was stopped while writing it."""
    size = path.stat().st_size
    if not size:
        return True
    with pa.memory_map(str(path)) as source:
        try:
            stream = pa.ipc.open_stream(source)
        except (pa.ArrowInvalid, OSError):
            return True
        whole = source.tell()
        while _next(stream) is not None:
            whole = source.tell()
        return bool(whole < size)
