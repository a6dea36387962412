"""Record batches of one log as its leader stores them, with what no consumer shows: who wrote them, and in a
transaction or not."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from kafka.record.memory_records import MemoryRecords

from workloads.clients import requests
from workloads.clients.protocol import Log
from workloads.clients.requests import Ask

NEWEST_FORMAT = 2
"""Of a record batch. Older ones are written by releases and settings before Kafka 0.11."""

MOST_BYTES = 1 << 20
"""Of one fetch."""


def log_batches(ask: Ask, log: Log, start: int, end: int) -> Iterator[Any]:
    """From the offset `start` to `end` (exclusive), as kafka-python decodes them. ask: of the leader. Raises OSError
    when it refuses; stops early at a batch of an old format, and where the leader returns nothing more."""
    while start < end:
        found = requests.fetch(ask, {log: start}, most_bytes=MOST_BYTES).get(log)
        if found is None or found.error_code:
            raise OSError(f"{log[0]}-{log[1]} at {start}: error {found and found.error_code}")
        before = start
        for batch in decoded(found.records or b""):
            start = batch.next_offset
            yield batch
        if start == before:
            return


def decoded(data: bytes) -> Iterator[Any]:
    """data: of a fetch, may end within a batch."""
    records = MemoryRecords(bytes(data))
    while (batch := records.next_batch()) is not None and batch.magic == NEWEST_FORMAT:
        yield batch
