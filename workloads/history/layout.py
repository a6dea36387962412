"""The files of compacted records, laid out so that Spark can group by log without a shuffle.

A small history is one file, ``part-0.parquet``. A large one has a file per *bucket*: all records of a log (run,
topic, partition) are in the bucket that Spark's own hash function assigns to it. Spark reads such files as a bucketed
table, and then groups by log, or by anything finer, without moving a row.
"""

from __future__ import annotations

import re

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
