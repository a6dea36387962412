"""A copy of the rows of a small history, which is read in a seventh of the time that its Parquet files take.

Parquet needs some 10 µs for each column of each file, however few rows it has, and the three tables have 63 columns.
The batches of Arrow's IPC format only have to be put one after the other: copies of thousands of histories are
decoded as one stream. Reading them would otherwise take longer than the analysis.

The Parquet files remain the history. The copy ends with a digest of their bytes and of its own, and is used only if
that is right. So the rows of a file that was replaced, added, removed or damaged never come from the copy.
"""

from __future__ import annotations

import hashlib
import os
import struct
from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping
from pathlib import Path
from typing import NamedTuple

import pyarrow as pa
import pyarrow.parquet as pq

from workloads.history.parquet import WHOLE
from workloads.history.schema import TABLES

NAME = "copy.arrows"
"""Of the file in the folder of the history: `SIZES` of each table, in the order of `TABLES`, then the schema and the
batch of each, then the digest."""

SIZES = struct.Struct("<3I")
"""Bytes of the schema, bytes of the batch, and rows."""

MOST = 1_000
"""Rows of a history that gets a copy. With more, decoding takes longer than opening, in either format."""

DIGEST = 16
"""Bytes."""

REVISION = b"2"
"""Raise it when the copy has other parts: that of another revision has a wrong digest."""

WRITE = pa.ipc.IpcWriteOptions(compression="lz4")
"""50 rows take less space than in a Parquet file, 1,000 rows up to five times as much."""

READ = pa.ipc.IpcReadOptions(use_threads=False)
"""Starting threads takes ten times as long as decompressing so few rows."""


class Encoded(NamedTuple):
    """The rows of a file: messages of Arrow's IPC format. Columns without values are left out."""

    schema: memoryview
    batch: memoryview
    rows: int


def write_copy(history: Path) -> None:
    """Write the copy of a history; remove it if there are several files of a table, or more than `MOST` rows, or
    columns of another type: readers put the rows of many copies together as they are."""
    copy = history / NAME
    files = _files(str(history))
    is_whole = all(map(os.path.exists, files.values()))
    if not is_whole or sum(pq.read_metadata(file).num_rows for file in files.values()) > MOST:
        copy.unlink(missing_ok=True)
        return
    tables = {
        table: pq.ParquetFile(file, page_checksum_verification=True).read() for table, file in files.items()
    }
    if not all(_has_types_of(rows.schema, TABLES[table]) for table, rows in tables.items()):
        copy.unlink(missing_ok=True)
        return
    parts = [_encoded(rows) for rows in tables.values()]
    content = b"".join(
        [
            *(SIZES.pack(len(each.schema), len(each.batch), each.rows) for each in parts),
            *(message for each in parts for message in (each.schema, each.batch)),
        ]
    )
    # A reader that meets a half-written copy finds a wrong digest.
    copy.write_bytes(content + _digest(files.values(), content))


def read_copy(files: Mapping[str, Collection[str]]) -> dict[str, Encoded]:
    """The rows of a history by file. Empty without a copy, or if it is not one of exactly these files.

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
    at = len(own) * SIZES.size
    copied = {}
    for file, (schema, batch, rows) in zip(own.values(), SIZES.iter_unpack(content[:at]), strict=True):
        copied[file] = Encoded(content[at : at + schema], content[at + schema : at + schema + batch], rows)
        at += schema + batch
    return copied


def decode(copied: Iterable[Encoded]) -> list[pa.Table]:
    """The rows of many files, in one table for each schema. The rows of a file keep their order."""
    batches: dict[memoryview, list[memoryview]] = defaultdict(list)
    for each in copied:
        if each.rows:
            batches[each.schema].append(each.batch)
    return [
        pa.ipc.open_stream(b"".join([schema, *of_schema]), options=READ).read_all()
        for schema, of_schema in batches.items()
    ]


def _has_types_of(found: pa.Schema, schema: pa.Schema) -> bool:
    names = {*found.names} & {*schema.names}
    return all(found.field(name).type == schema.field(name).type for name in names)


def _encoded(rows: pa.Table) -> Encoded:
    some = with_values(rows)
    sink = pa.BufferOutputStream()
    schema = some.schema.serialize().to_pybytes()
    with pa.ipc.new_stream(sink, some.schema, options=WRITE) as stream:
        stream.write_table(some.combine_chunks())  # in one batch
        end = sink.tell()
    content = memoryview(sink.getvalue().to_pybytes())
    return Encoded(content[: len(schema)], content[len(schema) : end], len(rows))


def with_values(rows: pa.Table) -> pa.Table:
    """The columns in which some row has a value: half of them, and each takes time to read in thousands of copies."""
    return rows.select([name for name in rows.column_names if rows[name].null_count < len(rows)])


def _files(history: str) -> dict[str, str]:
    return {table: f"{history}/{table}/{WHOLE}" for table in TABLES}


def _digest(files: Iterable[str], rows: bytes | memoryview) -> bytes:
    digest = hashlib.blake2b(digest_size=DIGEST, person=REVISION)
    for file in files:
        content = _content(file)
        digest.update(len(content).to_bytes(8, "little"))
        digest.update(content)
    digest.update(rows)
    return digest.digest()


def _content(file: str) -> bytes:
    with open(file, "rb", buffering=0) as source:
        return source.read()
