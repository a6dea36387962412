"""A cluster is ready when a client has written a record to every broker and read it back.

Lines in the brokers' logs are no proof: a broker logs that it has started before clients can use it.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

from kafka.errors import for_code
from kafka.protocol.consumer import FetchRequest
from kafka.protocol.producer import ProduceRequest
from kafka.record.memory_records import MemoryRecordsBuilder

from pytest_kafkacheck.cluster.kafka import topics
from pytest_kafkacheck.cluster.kafka.running_cluster import RunningCluster
from pytest_kafkacheck.cluster.kafka.settling import not_serving
from pytest_kafkacheck.cluster.kafka.waiting import wait_until
from workloads.clients.connection import Address, Connection

TOPIC = "kafkacheck-ready"
LIMIT = 90.0
"""Seconds for each step: all nodes serve; each broker has stored a record."""

TIMEOUT = 3.0
"""Seconds for one request."""

PAUSE = 0.05
"""Seconds between two attempts: short, because tests wait for the start."""


def wait_ready(cluster: RunningCluster) -> None:
    """Wait until every node serves and every broker is unfenced, then write a record to each broker and read it back.

    Raises InfrastructureError when time is up, and at once when a node has ended, because it will not come back.
    """
    brokers, dead = cluster.brokers, cluster.ended
    wait_until(lambda: not_serving(cluster), "every node serving", limit=LIMIT, dead=dead, pause=PAUSE)
    topics.create(brokers, TOPIC, assignment={number: [node] for number, node in enumerate(brokers)})
    with ThreadPoolExecutor(max_workers=len(brokers)) as pool:
        proofs = [pool.submit(_prove, number, brokers[node], dead) for number, node in enumerate(brokers)]
    for proof in proofs:
        proof.result()
    topics.delete(brokers, TOPIC)


def _prove(partition: int, address: Address, dead: Callable[[], str | None]) -> None:
    """Write a record to the partition, whose only replica is on that broker, and read it back."""

    def unread() -> str | None:
        with Connection(address, timeout=TIMEOUT) as connection:
            _write(connection, partition)
            return None if _read(connection, partition) else "the record was written, but not read"

    what = f"a record written to and read from the broker at {address}"
    wait_until(unread, what, limit=LIMIT, dead=dead, pause=PAUSE)


def _write(connection: Connection, partition: int) -> None:
    batch = MemoryRecordsBuilder(magic=2, compression_type=0, batch_size=1 << 14)
    batch.append(timestamp=int(time.time() * 1000), key=None, value=b"ready")
    batch.close()
    Topic = ProduceRequest.TopicProduceData
    data = Topic.PartitionProduceData(index=partition, records=batch.buffer())
    request = ProduceRequest(
        version=7,
        transactional_id=None,
        acks=-1,
        timeout_ms=int(TIMEOUT * 1000),
        topic_data=[Topic(name=TOPIC, partition_data=[data])],
    )
    (answer,) = connection.ask(request).responses[0].partition_responses
    if answer.error_code:
        raise for_code(answer.error_code)(f"produce to {TOPIC}-{partition}")


def _read(connection: Connection, partition: int) -> bool:
    Topic = FetchRequest.FetchTopic
    wanted = Topic.FetchPartition(
        partition=partition,
        current_leader_epoch=-1,
        fetch_offset=0,
        last_fetched_epoch=-1,
        log_start_offset=-1,
        partition_max_bytes=1 << 20,
    )
    request = FetchRequest(
        version=11,
        replica_id=-1,
        max_wait_ms=500,
        min_bytes=1,
        max_bytes=1 << 20,
        isolation_level=0,
        session_id=0,
        session_epoch=-1,
        topics=[Topic(topic=TOPIC, partitions=[wanted])],
        forgotten_topics_data=[],
        rack_id="",
    )
    (answer,) = connection.ask(request).responses[0].partitions
    if answer.error_code:
        raise for_code(answer.error_code)(f"fetch from {TOPIC}-{partition}")
    return b"ready" in bytes(answer.records or b"")
