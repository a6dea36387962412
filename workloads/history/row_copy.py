"""A copy of the rows of a small history, which is read in a fifth of the time that its Parquet files take.

Parquet needs some 10 µs for each column of each file, however few rows it has, and the three tables have 63 columns.
Arrow's IPC format needs less than one. Where thousands of small histories are judged together, reading them would
otherwise take longer than the analysis.

The Parquet files remain the history. The copy ends with a digest of their bytes and of its own, and is used only if
that is right. So the rows of a file that was replaced, added, removed or damaged never come from the copy.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Collection, Iterable, Mapping
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from workloads.history.layout import WHOLE
from workloads.history.schema import TABLES

NAME = "copy.arrows"
"""Of the file in the folder of the history: a stream for each table, in the order of `TABLES`, then the digest."""

MOST = 1_000
"""Rows of a history that gets a copy. With more, decoding takes longer than opening, in either format."""

DIGEST = 16
"""Bytes."""

WRITE = pa.ipc.IpcWriteOptions(compression="lz4")
"""50 rows take less space than in a Parquet file, 1,000 rows up to five times as much."""

READ = pa.ipc.IpcReadOptions(use_threads=False)
"""Starting threads takes ten times as long as decompressing so few rows."""


def write_copy(history: Path) -> None:
    """Write the copy of a history; remove it if there are several files of a table, or more than `MOST` rows."""
    copy = history / NAME
    files = _files(str(history))
    is_whole = all(map(os.path.exists, files.values()))
    if not is_whole or sum(pq.read_metadata(file).num_rows for file in files.values()) > MOST:
        copy.unlink(missing_ok=True)
        return
    sink = pa.BufferOutputStream()
    for file in files.values():
        rows = with_values(pq.ParquetFile(file, page_checksum_verification=True).read())
        with pa.ipc.new_stream(sink, rows.schema, options=WRITE) as stream:
            stream.write_table(rows)
    content = sink.getvalue().to_pybytes()
    # A reader that meets a half-written copy finds a wrong digest.
    copy.write_bytes(content + _digest(files.values(), content))


def read_copy(files: Mapping[str, Collection[str]]) -> dict[str, pa.Table]:
    """The rows of a history by file, without columns that have no values. Empty without a copy, or if it is not one
    of exactly these files.

    files  by table, the paths of the Parquet files of the history.
    """
    history = next(iter(files["records"]), "").removesuffix(f"/records/{WHOLE}")
    own = _files(history)
    if any([*files[table]] != [file] for table, file in own.items()):
        return {}
    try:
        content = memoryview(_content(f"{history}/{NAME}"))
        if _digest(own.values(), content[:-DIGEST]) != content[-DIGEST:]:
            return {}
    except OSError:
        return {}  # of a Parquet file: the error is raised again when it is read itself
    source = pa.BufferReader(content)
    return {file: pa.ipc.open_stream(source, options=READ).read_all() for file in own.values()}


def with_values(rows: pa.Table) -> pa.Table:
    """The columns in which some row has a value: half of them, and each takes time to read in thousands of copies."""
    return rows.select([name for name in rows.column_names if rows[name].null_count < len(rows)])


def _files(history: str) -> dict[str, str]:
    return {table: f"{history}/{table}/{WHOLE}" for table in TABLES}


def _digest(files: Iterable[str], rows: bytes | memoryview) -> bytes:
    digest = hashlib.blake2b(digest_size=DIGEST)
    for file in files:
        content = _content(file)
        digest.update(len(content).to_bytes(8, "little"))
        digest.update(content)
    digest.update(rows)
    return digest.digest()


def _content(file: str) -> bytes:
    with open(file, "rb", buffering=0) as source:
        return source.read()
