"""The compose files run with docker-compose, and their brokers store and return records."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from kafka import KafkaConsumer, KafkaProducer, TopicPartition

from pytest_kafkacheck.cluster.docker.compose import exported_endpoint
from pytest_kafkacheck.cluster.kafka import metadata_views, topics
from pytest_kafkacheck.cluster.spec.member import EXTERNAL
from pytest_kafkacheck.cluster.spec.spec import ClusterSpec
from tests.support.compose_project import NEEDS_COMPOSE, composed
from tests.support.real_cluster import wait_until
from workloads.clients.connection import Address

pytestmark = [pytest.mark.cluster, NEEDS_COMPOSE]


@pytest.fixture
def up(engine: Any, request: pytest.FixtureRequest) -> Iterator[ClusterSpec]:
    name, spec = request.param
    with composed(engine, name, version=spec.version):
        yield spec


@pytest.mark.parametrize(
    "up",
    [
        # By day, tests/cluster/test_attach.py starts it, and runs an experiment there.
        pytest.param(("combined-3.yml", ClusterSpec()), id="combined-3", marks=pytest.mark.nightly),
        pytest.param(
            ("controllers-3.yml", ClusterSpec(controllers=3)), id="controllers-3", marks=pytest.mark.nightly
        ),
        pytest.param(
            ("zookeeper.yml", ClusterSpec(version="3.9.2", zookeepers=1)),
            id="zookeeper",
            marks=pytest.mark.nightly,
        ),
    ],
    indirect=True,
)
def test_a_compose_file_makes_a_cluster(up: ClusterSpec) -> None:
    brokers = {
        member.id: Address("127.0.0.1", exported_endpoint(up, member).ports[EXTERNAL])
        for member in up.members
        if member.is_broker
    }

    def registered() -> bool:
        try:
            return all(metadata_views.unfenced(address) == set(brokers) for address in brokers.values())
        except OSError:
            return False

    wait_until(registered, limit=90)
    topics.create(brokers, "t", partitions=1, replication_factor=3)
    servers = [str(address) for address in brokers.values()]
    producer = KafkaProducer(bootstrap_servers=servers, acks="all")
    producer.send("t", b"there").get(timeout=30)
    producer.close(timeout=5)
    consumer = KafkaConsumer(bootstrap_servers=servers, group_id=None, auto_offset_reset="earliest")
    consumer.assign([TopicPartition("t", 0)])
    found: list[bytes] = []

    def read() -> bool:
        found.extend(record.value for records in consumer.poll(timeout_ms=500).values() for record in records)
        return found == [b"there"]

    wait_until(read, limit=30)
    consumer.close()
