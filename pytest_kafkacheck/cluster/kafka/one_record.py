"""A produce request with one record for one partition."""

from __future__ import annotations

import time
from typing import NamedTuple

from kafka.protocol.producer import ProduceRequest
from kafka.record.memory_records import MemoryRecordsBuilder


class Sender(NamedTuple):
    """An idempotent producer, and the sequence number of its record."""

    id: int
    epoch: int
    sequence: int


NOBODY = Sender(-1, -1, -1)
"""A producer without idempotence."""


def produce_request(
    topic: str,
    partition: int,
    value: bytes,
    *,
    timeout: float,
    acks: int = -1,
    version: int = 7,
    sender: Sender = NOBODY,
    transactional_id: str | None = None,
    timestamp: int | None = None,
    compression: int = 0,
) -> ProduceRequest:
    """timeout: seconds for which the broker may wait for replicas. timestamp: ms since the epoch; None: now.
    compression: its code in the record batch, 0 for none."""
    batch = MemoryRecordsBuilder(
        magic=2,
        compression_type=compression,
        batch_size=1 << 20,
        transactional=transactional_id is not None,
        producer_id=sender.id,
        producer_epoch=sender.epoch,
        base_sequence=sender.sequence,
    )
    batch.append(timestamp=int(time.time() * 1000) if timestamp is None else timestamp, key=None, value=value)
    batch.close()
    Topic = ProduceRequest.TopicProduceData
    data = Topic.PartitionProduceData(index=partition, records=batch.buffer())
    return ProduceRequest(
        version=version,
        transactional_id=transactional_id,
        acks=acks,
        timeout_ms=int(timeout * 1000),
        topic_data=[Topic(name=topic, partition_data=[data])],
    )
