"""Ready means: every broker took a record and gave it back to a client, not that a log line appeared."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING

from kafka.errors import KafkaError, for_code
from kafka.protocol.consumer import FetchRequest
from kafka.protocol.producer import ProduceRequest
from kafka.record.memory_records import MemoryRecordsBuilder
from tenacity import (
    RetryError,
    Retrying,
    retry_if_exception_type,
    retry_if_not_result,
    stop_after_delay,
    wait_fixed,
)

from pytest_kafkacheck.cluster import topics, views
from pytest_kafkacheck.errors import InfrastructureError
from workloads.clients.raw import Address, Connection

if TYPE_CHECKING:
    from pytest_kafkacheck.cluster.cluster import DockerCluster

TOPIC = "kafkacheck-ready"
LIMIT = 90.0
TIMEOUT = 3.0
"""Seconds for one request of the proof."""

LOOK = 0.5
"""Seconds between looks whether a node has ended: to ask the engine costs the starting nodes processor time."""


def wait_ready(cluster: DockerCluster) -> None:
    """Wait until every node serves and every broker is unfenced, and write to and read from each broker.

    Raises InfrastructureError; at once when a node has ended, for it will not come back.
    """
    brokers, dead = cluster.brokers, cluster.ended
    _until(lambda: _all_registered(brokers), "every broker registered with the controller", dead)
    others = [node for node in cluster.nodes if node not in brokers]
    _until(lambda: all(map(cluster.serving, others)), "every controller or ZooKeeper node serving", dead)
    topics.create(brokers, TOPIC, assignment={number: [node] for number, node in enumerate(brokers)})
    try:
        with ThreadPoolExecutor(max_workers=len(brokers)) as pool:
            proofs = [pool.submit(_prove, number, brokers[node], dead) for number, node in enumerate(brokers)]
        for proof in proofs:
            proof.result()
    finally:
        topics.delete(brokers, TOPIC)


def _prove(partition: int, address: Address, dead: Callable[[], str | None]) -> None:
    """The partition has its only replica on the broker: once its leader, it takes a record and gives it back."""

    def written_and_read() -> bool:
        with Connection(address, timeout=TIMEOUT) as connection:
            _write(connection, partition)
            return _read(connection, partition)

    _until(written_and_read, f"a record written to and read from the broker at {address}", dead)


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


def _until(condition: Callable[[], bool], what: str, dead: Callable[[], str | None]) -> None:
    looked = time.monotonic()

    def once() -> bool:
        nonlocal looked
        if time.monotonic() - looked >= LOOK:
            looked = time.monotonic()
            if (text := dead()) is not None:
                raise InfrastructureError(f"A node ended while kafkacheck waited for {what}: {text}")
        return condition()

    try:
        Retrying(
            stop=stop_after_delay(LIMIT),
            wait=wait_fixed(0.05),
            retry=retry_if_exception_type((OSError, KafkaError)) | retry_if_not_result(bool),
        )(once)
    except RetryError as error:
        failure = error.last_attempt.exception()
        raise InfrastructureError(
            f"Waited {LIMIT:.0f} s in vain for {what}. "
            f"Last attempt: {failure if failure is not None else 'not yet so'}. "
            f"The nodes' logs are kept with the run."
        ) from error


def _all_registered(brokers: Mapping[int, Address]) -> bool:
    return all(views.unfenced(address) == set(brokers) for address in brokers.values())
