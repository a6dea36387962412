"""Everything that a test's topics hold, read once more by a fresh client: this decides which writes are lost."""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import Any

from pytest_kafkacheck.recorder.consumers import kafka_python_fields
from pytest_kafkacheck.recorder.line_log import LineLog
from pytest_kafkacheck.recorder.recorder import Recorder
from workloads.clients.connection import Address

Log = tuple[str, int]

POLL = 200
"""Milliseconds."""


def read_finally(
    brokers: Mapping[int, Address],
    ends: Mapping[Log, tuple[int, int]],
    *,
    recorder: Recorder,
    log: LineLog,
    limit: float,
) -> list[str]:
    """Read these ranges (first offset, end, exclusive), each to its end or for `limit` seconds, and record it.

    Returns a sentence for each partition whose end was not reached.
    """
    begun = recorder.now()
    left = {of: at for of, at in ends.items() if at[0] < at[1]}
    by = "final read"
    error = None
    try:
        positions = _polled(brokers, left, recorder, by, limit) if left else {}
    except Exception as problem:  # a client of a library that is no part of this project may raise anything
        positions, error = {}, f"{type(problem).__name__}: {problem}"
    missing = []
    for (topic, partition), (start, end) in sorted(ends.items()):
        position = positions.get((topic, partition), start)
        is_whole = position >= end
        why = None if is_whole else error or f"end not reached within {limit:g} s, at offset {position}"
        log.append(
            "final-read",
            process=by,
            type="ok" if is_whole else "info",
            invoked=begun,
            completed=recorder.now(),
            topic=topic,
            partition=partition,
            start_offset=start,
            end_offset=end,
            error=why,
        )
        if why is not None:
            missing.append(f"{topic}-{partition}: {why}")
    return missing


def _polled(
    brokers: Mapping[int, Address],
    ends: Mapping[Log, tuple[int, int]],
    recorder: Recorder,
    by: str,
    limit: float,
) -> dict[Log, int]:
    """The positions that were reached."""
    from kafka import KafkaConsumer, TopicPartition

    from workloads.clients.kafka_python.settings import access

    consumer = KafkaConsumer(
        **access(brokers.values()),
        group_id=None,
        auto_offset_reset="none",
        enable_auto_commit=False,
        metrics_enabled=False,
        fetch_max_wait_ms=100,
    )
    places = {TopicPartition(*of): of for of in ends}
    try:
        consumer.assign([*places])
        for place, of in places.items():
            consumer.seek(place, ends[of][0])
        deadline = time.monotonic() + limit
        while time.monotonic() < deadline:
            invoked = recorder.now()
            batches = consumer.poll(timeout_ms=POLL)
            records = [record for batch in batches.values() for record in batch]
            recorder.polled(
                [kafka_python_fields(each, recorder) for each in records if each.offset < _end(ends, each)],
                by=by,
                invoked=invoked,
                committed=False,
                assignment=0,
                final=True,
            )
            if all(consumer.position(place) >= ends[of][1] for place, of in places.items()):
                break
        return {of: consumer.position(place) for place, of in places.items()}
    finally:
        consumer.close()


def _end(ends: Mapping[Log, tuple[int, int]], record: Any) -> int:
    return ends[record.topic, record.partition][1]
