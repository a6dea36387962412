"""The records of one replica, read from the broker that has it."""

from __future__ import annotations

from typing import NamedTuple

from kafka.protocol.consumer import FetchRequest
from kafka.record.memory_records import MemoryRecords

from workloads.clients.requests import CLIENT, Ask

BYTES = 1 << 20


class Stored(NamedTuple):
    value: str
    timestamp: int


def records(ask: Ask, topic: str) -> dict[int, Stored]:
    """Of partition 0, by offset, up to the replica's high watermark. A broker of Kafka 2.4 or later answers for its
    own replica, whether it leads the partition or not."""
    found: dict[int, Stored] = {}
    at = 0
    while True:
        partition = _fetch(ask, topic, at)
        if partition.error_code:
            raise ConnectionError(f"fetch of {topic}-0 from {at}: error {partition.error_code}")
        batches = MemoryRecords(bytes(partition.records or b""))
        while batches.has_next():
            for record in batches.next_batch():
                found[record.offset] = Stored(record.value.decode(), record.timestamp)
        after = max(found, default=-1) + 1
        if after >= partition.high_watermark or after <= at:
            return found
        at = after


def _fetch(ask: Ask, topic: str, at: int) -> FetchRequest:
    Topic = FetchRequest.FetchTopic
    request = FetchRequest(
        version=11,
        replica_id=CLIENT,
        max_wait_ms=0,
        min_bytes=0,
        max_bytes=BYTES,
        isolation_level=0,
        session_id=0,
        session_epoch=-1,
        forgotten_topics_data=[],
        rack_id="",
        topics=[
            Topic(
                topic=topic,
                partitions=[
                    Topic.FetchPartition(
                        partition=0,
                        current_leader_epoch=-1,
                        fetch_offset=at,
                        last_fetched_epoch=-1,
                        log_start_offset=-1,
                        partition_max_bytes=BYTES,
                    )
                ],
            )
        ],
    )
    return ask(request).responses[0].partitions[0]
