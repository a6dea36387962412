"""One produce request to one broker, whether it leads the partition or not."""

from __future__ import annotations

import time
from typing import Any, NamedTuple

from kafka.protocol.producer import ProduceRequest
from kafka.record.memory_records import MemoryRecordsBuilder

from workloads.clients.connection import Address, ask

NOT_LEADER, TIMED_OUT, NOT_ENOUGH_REPLICAS, OUT_OF_ORDER = 6, 7, 19, 45
"""Error codes."""

GZIP = 1

MARGIN = 5.0
"""Seconds beyond the broker's own limit."""


def append(address: Address, topic: str, value: str, *, acks: int, limit: float) -> int:
    """The error code of the answer. Raises OSError without one."""
    return error_code(ask(address, request(topic, value, acks=acks, limit=limit), timeout=limit + MARGIN))


def error_code(answer: Any) -> int:
    """Of the answer to a request for one partition."""
    return int(answer.responses[0].partition_responses[0].error_code)


class Sender(NamedTuple):
    """An idempotent producer, and the sequence number of its record."""

    id: int
    epoch: int
    sequence: int


NOBODY = Sender(-1, -1, -1)
"""A producer without idempotence."""


def request(
    topic: str, value: str, *, acks: int, limit: float, compression: int = 0, sender: Sender = NOBODY
) -> ProduceRequest:
    """One record for partition 0.

    limit        seconds for which the broker may wait for replicas.
    compression  0 for none, `GZIP`.
    """
    batch = MemoryRecordsBuilder(
        magic=2,
        compression_type=compression,
        batch_size=1 << 20,
        producer_id=sender.id,
        producer_epoch=sender.epoch,
        base_sequence=sender.sequence,
    )
    batch.append(timestamp=int(time.time() * 1000), key=None, value=value.encode())
    batch.close()
    Topic = ProduceRequest.TopicProduceData
    return ProduceRequest(
        version=7,
        transactional_id=None,
        acks=acks,
        timeout_ms=int(limit * 1000),
        topic_data=[
            Topic(name=topic, partition_data=[Topic.PartitionProduceData(index=0, records=batch.buffer())])
        ],
    )
