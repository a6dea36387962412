"""The topic `__consumer_offsets`, as a broker returns it: records of groups, and where its log ends."""

from __future__ import annotations

import struct

from kafka.protocol.consumer import FetchResponse, ListOffsetsResponse
from kafka.record.memory_records import MemoryRecordsBuilder

from workloads.clients.group_log import TOPIC


def ending_at(offset: int, *, partition: int = 0, error: int = 0) -> ListOffsetsResponse:
    Topic = ListOffsetsResponse.ListOffsetsTopicResponse
    part = Topic.ListOffsetsPartitionResponse(
        version=5, partition_index=partition, error_code=error, timestamp=-1, offset=offset, leader_epoch=0
    )
    return ListOffsetsResponse(
        version=5, throttle_time_ms=0, topics=[Topic(version=5, name=TOPIC, partitions=[part])]
    )


def fetched(data: bytes, *, mark: int, partition: int = 0, error: int = 0) -> FetchResponse:
    Topic = FetchResponse.FetchableTopicResponse
    part = Topic.PartitionData(
        version=11, partition_index=partition, error_code=error, high_watermark=mark, last_stable_offset=-1,
        log_start_offset=0, aborted_transactions=None, preferred_read_replica=-1, records=data,
    )  # fmt: skip
    topic = Topic(version=11, topic=TOPIC, partitions=[part])
    return FetchResponse(version=11, throttle_time_ms=0, error_code=0, session_id=0, responses=[topic])


def batch(base: int, *records: tuple[bytes, bytes | None]) -> bytes:
    """As a broker stores it: with the offset of the first record."""
    built = MemoryRecordsBuilder(magic=2, compression_type=0, batch_size=1 << 14)
    for key, value in records:
        built.append(timestamp=None, key=key, value=value, headers=[])
    built.close()
    return struct.pack(">q", base) + bytes(built.buffer())[8:]


def text(of: str) -> bytes:
    return struct.pack(">h", len(of)) + of.encode()


def key(group: str, version: int = 2) -> bytes:
    return struct.pack(">h", version) + text(group)


def of_generation(number: int, version: int = 3) -> bytes:
    """The beginning of GroupMetadataValue; the rest does not matter."""
    kind = text("consumer") if version < 4 else bytes([9]) + b"consumer"
    return struct.pack(">h", version) + kind + struct.pack(">i", number) + b"rest"
