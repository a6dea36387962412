"""What every cluster must do: store records, lose a broker and get it back, and return all records."""

from __future__ import annotations

import os
import uuid
from typing import Any

from kafka import KafkaConsumer, KafkaProducer, TopicPartition
from kafka.errors import KafkaError
from tenacity import (
    Retrying,
    retry,
    retry_if_exception_type,
    retry_if_not_result,
    stop_after_delay,
    wait_fixed,
)

from pytest_kafkacheck.cluster.docker import lifecycle, loop_devices, reaper
from pytest_kafkacheck.cluster.docker.cluster import DockerCluster
from pytest_kafkacheck.cluster.kafka import topics
from workloads.clients.kafka_python import access

DISK_MB = 128
"""Size of the disks of the shared cluster that has some."""


def own(name: str) -> str:
    """A name of a run that no other test session on this machine uses."""
    return f"{name}-{os.getpid()}"


def wait_until(condition: Any, limit: float = 60) -> None:
    Retrying(stop=stop_after_delay(limit), wait=wait_fixed(0.1), retry=retry_if_not_result(bool))(condition)


def objects(engine: Any, run: str) -> list[str]:
    """Ids of all objects of a run in the engine."""
    label = {"label": f"{reaper.RUN}={run}"}
    found = engine.api.containers(all=True, filters=label) + engine.api.networks(filters=label)
    volumes = engine.api.volumes(filters=label)["Volumes"] or []
    return [each["Id"] for each in found] + [each["Name"] for each in volumes]


def backing_files(engine: Any, run: str) -> list[str]:
    """Backing files of the loop devices that a run still has, deleted files included."""
    with loop_devices.loop_helper(engine.api, [], labels=reaper.labels(own("looking"))) as helper:
        return [line for line in helper.files() if f"kafkacheck-{run}-" in line]


def write(cluster: DockerCluster, topic: str, values: list[str]) -> None:
    """Send the values, and return when the whole ISR has acknowledged all of them."""
    producer = KafkaProducer(**access(cluster.brokers.values()), acks="all", delivery_timeout_ms=60_000)
    try:
        for future in [producer.send(topic, value.encode()) for value in values]:
            future.get(timeout=60)
    finally:
        producer.close(timeout=5)


@retry(
    stop=stop_after_delay(60), wait=wait_fixed(0.1), retry=retry_if_exception_type(KafkaError), reraise=True
)
def _ends(consumer: Any, topic: str) -> tuple[list[TopicPartition], dict[TopicPartition, int]]:
    """End offsets of all partitions.

    Repeated on errors, because a broker that has just started may be slow with TLS.
    """
    logs = [TopicPartition(topic, number) for number in sorted(consumer.partitions_for_topic(topic))]
    return logs, consumer.end_offsets(logs)


def read(cluster: DockerCluster, topic: str) -> list[str]:
    """All values up to the current end offsets."""
    consumer = KafkaConsumer(**access(cluster.brokers.values()), group_id=None, auto_offset_reset="earliest")
    try:
        logs, ends = _ends(consumer, topic)
        consumer.assign(logs)
        found: list[str] = []

        def done() -> bool:
            for records in consumer.poll(timeout_ms=500).values():
                found.extend(record.value.decode() for record in records)
            return all(consumer.position(log) >= ends[log] for log in logs)

        wait_until(done)
        return found
    finally:
        consumer.close()


def round_of(cluster: DockerCluster) -> None:
    """Write, kill the leader, go on without it if a majority is left, start it again, and read everything."""
    topic = f"round-{uuid.uuid4().hex[:8]}"
    copies = min(3, len(cluster.brokers))
    topics.create(cluster.brokers, topic, partitions=2, replication_factor=copies)
    wait_until(lambda: cluster.leader(topic, 0) is not None)
    first, second = ([f"{when}-{number}" for number in range(50)] for when in ("before", "during"))
    write(cluster, topic, first)
    lifecycle.wait_settled(cluster)  # a replica that a slow machine has put out of the ISR could not lead
    leader = cluster.leader(topic, 0)
    assert leader is not None
    node = cluster.nodes[leader]
    address, incarnation = node.client_address, node.incarnation()
    node.kill()
    goes_on = copies > 1 and (not node.member.is_controller or len(cluster.spec.voters) > 2)
    if goes_on:
        wait_until(lambda: cluster.leader(topic, 0) not in (None, leader))
        write(cluster, topic, second)
    node.start()
    lifecycle.wait_settled(cluster)
    assert (node.client_address, node.incarnation() == incarnation) == (address, False)
    if not goes_on:
        write(cluster, topic, second)
    assert sorted(read(cluster, topic)) == sorted(first + second)
    topics.delete(cluster.brokers, topic)
