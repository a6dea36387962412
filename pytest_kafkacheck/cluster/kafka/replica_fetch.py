"""Copies a partition from the broker that has the replica, as a consumer near it fetches it (KIP-392): for brokers
whose disks we cannot read. A broker of Kafka 2.4 or later answers for its own replica, whether it leads or not."""

from __future__ import annotations

import io
import time
from pathlib import Path

from kafka.errors import for_code
from kafka.protocol.consumer import FetchRequest

from pytest_kafkacheck.cluster.kafka.stored_batches import batches
from workloads.clients.connection import Address, Connection
from workloads.clients.protocol import Log
from workloads.clients.requests import CLIENT

BYTES = 8 << 20
"""Of one response."""

TIMEOUT = 10.0
"""Seconds for one answer."""

WAIT = 500
"""Milliseconds that a broker waits for records: the high watermark of a follower comes a moment later."""

PATIENCE = 5.0
"""Seconds for a replica to have a record below the high watermark of its leader."""


def copy_replica(address: Address, log: Log, folder: Path, *, begin: int, end: int) -> Path:
    """Copy the replica's batches from offset `begin` to `end` (exclusive) into a file, named as segments are.

    What the replica does not have is missing in the file. Raises OSError, or KafkaError where the broker refuses.
    """
    copy = folder / f"{log[0]}-{log[1]}-{begin:020}.log"
    at, deadline = begin, time.monotonic() + PATIENCE
    with Connection(address, timeout=TIMEOUT) as connection, copy.open("wb") as target:
        while at < end and time.monotonic() < deadline:
            (answer,) = connection.ask(_request(log, at)).responses[0].partitions
            if answer.error_code:
                raise for_code(answer.error_code)(f"fetch of {log[0]}-{log[1]} from {at} at {address}")
            # A response may end in the middle of a batch.
            for batch in batches(io.BytesIO(bytes(answer.records or b""))):
                target.write(batch.data)
                at, deadline = batch.last + 1, time.monotonic() + PATIENCE
    return copy


def _request(log: Log, at: int) -> FetchRequest:
    Topic = FetchRequest.FetchTopic
    partition = Topic.FetchPartition(
        partition=log[1],
        current_leader_epoch=-1,
        fetch_offset=at,
        last_fetched_epoch=-1,
        log_start_offset=-1,
        partition_max_bytes=BYTES,
    )
    return FetchRequest(
        version=11,
        replica_id=CLIENT,
        max_wait_ms=WAIT,
        min_bytes=1,
        max_bytes=BYTES,
        isolation_level=0,
        session_id=0,
        session_epoch=-1,
        forgotten_topics_data=[],
        rack_id="",
        topics=[Topic(topic=log[0], partitions=[partition])],
    )
