"""The Parquet files of a compacted history: how they are written, and how Spark groups by log without a shuffle.

A small history is one file per table, ``part-0.parquet``. The records of a large one have a file per *bucket*: all
records of a log (run, topic, partition) are in the bucket that Spark's own hash function assigns to it. Spark reads
such files as a bucketed table, and then groups by log, or by anything finer, without moving a row.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

ROW_GROUP = 500_000
"""Rows."""

FEW = 10_000
"""Rows up to which a table is compressed with snappy. zstd sets up its state for each column, which takes as long as
the rest of reading a small file and saves hardly a byte. Of what Arrow compresses with lz4, Spark refuses some pages
("all input must be consumed")."""


def write(path: Path, tables: Iterable[pa.Table], schema: pa.Schema) -> None:
    """Write all rows into one file, in row groups as `row_groups` cuts them. Without rows the file has no row
    group."""
    numbers = [field.name for field in schema if field.type == pa.int64()]
    groups = row_groups(tables)
    group = next(groups, None)
    with pq.ParquetWriter(
        path,
        schema,
        compression="snappy" if group is None or len(group) <= FEW else "zstd",
        use_dictionary=[_leaf(field) for field in schema if field.name not in numbers],
        column_encoding=dict.fromkeys(numbers, "DELTA_BINARY_PACKED"),
        write_page_checksum=True,  # otherwise a flipped bit is read as another value
    ) as writer:
        while group is not None:
            writer.write_table(group, ROW_GROUP)
            group = next(groups, None)


def row_groups(tables: Iterable[pa.Table]) -> Iterator[pa.Table]:
    """The same rows in tables of `ROW_GROUP` rows, the last one with fewer; no table if there are no rows."""
    held: list[pa.Table] = []
    rows = 0
    for table in tables:
        held.append(table)
        rows += len(table)
        while rows >= ROW_GROUP:
            whole = pa.concat_tables(held)
            rows -= ROW_GROUP
            # An empty slice would keep the memory of the whole table.
            held = [whole.slice(ROW_GROUP)] if rows else []
            yield whole.slice(0, ROW_GROUP)
            del whole
    if rows:
        yield pa.concat_tables(held)


def _leaf(field: pa.Field) -> str:
    return f"{field.name}.list.element" if pa.types.is_list(field.type) else str(field.name)


BUCKETS = 32
"""Several times the cores of one machine, so that each core gets several buckets and their sizes even out."""

KEY = ("run", "topic", "partition")
"""The columns that decide the bucket, in the order in which they are hashed."""

WHOLE = "part-0.parquet"
"""The only file of a table that is not divided."""

SEED = 42
"""Of Spark's hash function."""

NAME = re.compile(r"of-(\d+)_(\d{5})\.parquet")


def file_name(number: int, buckets: int) -> str:
    """``of-32_00007.parquet``: Spark reads the number after the last underscore as the bucket."""
    return f"of-{buckets}_{number:05}.parquet"


def buckets_of(file: str) -> int | None:
    """The number of buckets of the table that a file of this name belongs to; None for a table that is not
    divided."""
    match = NAME.fullmatch(file)
    return int(match[1]) if match else None


def bucket(run: str | None, topic: str | None, partition: int | None, *, buckets: int = BUCKETS) -> int:
    """The bucket of a log, equal to Spark's ``pmod(hash(run, topic, partition), buckets)``."""
    state = SEED
    for text in (run, topic):
        state = state if text is None else _hash_bytes(text.encode(), state)
    state = state if partition is None else _hash_words([partition & 0xFFFFFFFF], state, 4)
    return (state - (1 << 32) if state >> 31 else state) % buckets


def _hash_bytes(text: bytes, state: int) -> int:
    """Hash bytes as Spark does. It takes each trailing byte that fills no word as a signed word, unlike standard
    Murmur 3."""
    aligned = len(text) - len(text) % 4
    words = [int.from_bytes(text[at : at + 4], "little") for at in range(0, aligned, 4)]
    words += [(byte - 256 if byte > 127 else byte) & 0xFFFFFFFF for byte in text[aligned:]]
    return _hash_words(words, state, len(text))


def _hash_words(words: list[int], state: int, length: int) -> int:
    """Murmur 3 (x86, 32 bits) over unsigned words."""
    for word in words:
        word = word * 0xCC9E2D51 & 0xFFFFFFFF
        word = _rotated(word, 15) * 0x1B873593 & 0xFFFFFFFF
        state = (_rotated(state ^ word, 13) * 5 + 0xE6546B64) & 0xFFFFFFFF
    state ^= length
    state = (state ^ state >> 16) * 0x85EBCA6B & 0xFFFFFFFF
    state = (state ^ state >> 13) * 0xC2B2AE35 & 0xFFFFFFFF
    return state ^ state >> 16


def _rotated(word: int, by: int) -> int:
    return (word << by | word >> 32 - by) & 0xFFFFFFFF
