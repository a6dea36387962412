"""Ready means: every broker took a record and gave it back to a client, not that a log line appeared."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

from kafka import KafkaConsumer, KafkaProducer, TopicPartition
from kafka.errors import KafkaError
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
from workloads.clients.kafka_python import access
from workloads.clients.raw import Address

if TYPE_CHECKING:
    from pytest_kafkacheck.cluster.cluster import DockerCluster

TOPIC = "kafkacheck-ready"
LIMIT = 90.0


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
        _until(lambda: _led_by_each(brokers), "a partition led by each broker", dead)
        _until(lambda: _written_and_read(brokers), "a record written to and read from each broker", dead)
    finally:
        topics.delete(brokers, TOPIC)


def _until(condition: Callable[[], bool], what: str, dead: Callable[[], str | None]) -> None:
    def once() -> bool:
        if (text := dead()) is not None:
            raise InfrastructureError(f"A node ended while kafkacheck waited for {what}: {text}")
        return condition()

    try:
        Retrying(
            stop=stop_after_delay(LIMIT),
            wait=wait_fixed(0.1),
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


def _led_by_each(brokers: Mapping[int, Address]) -> bool:
    return all(
        [view.leader for _, view in sorted(views.metadata(address, [TOPIC]).items())] == list(brokers)
        for address in brokers.values()
    )


def _written_and_read(brokers: Mapping[int, Address]) -> bool:
    reached = access(brokers.values())
    partitions = [TopicPartition(TOPIC, number) for number in range(len(brokers))]
    producer = KafkaProducer(**reached, bootstrap_timeout_ms=3000, max_block_ms=3000)
    try:
        sent = [producer.send(TOPIC, b"ready", partition=each.partition) for each in partitions]
        for future in sent:
            future.get(timeout=5)
    finally:
        producer.close(timeout=2)
    consumer = KafkaConsumer(
        **reached, bootstrap_timeout_ms=3000, group_id=None, auto_offset_reset="earliest"
    )
    try:
        consumer.assign(partitions)
        consumer.seek_to_beginning()
        seen: set[int] = set()
        for _ in range(20):
            for partition in consumer.poll(timeout_ms=250):
                seen.add(partition.partition)
            if len(seen) == len(partitions):
                return True
        return False
    finally:
        consumer.close(timeout_ms=2000)
