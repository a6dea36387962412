"""Which member has which partition, as the coordinator of a real group reports it."""

from __future__ import annotations

from contextlib import ExitStack, closing
from typing import Any

import pytest

from pytest_kafkacheck.cluster.docker.cluster import DockerCluster
from pytest_kafkacheck.cluster.kafka import topics
from tests.support.real_cluster import own, wait_until
from workloads.clients.connection import ask
from workloads.clients.described_groups import owners, positions

confluent = pytest.importorskip("confluent_kafka")

pytestmark = [pytest.mark.cluster, pytest.mark.nightly]


def member(cluster: DockerCluster, group: str, client: str, **settings: Any) -> Any:
    return confluent.Consumer(
        {
            "bootstrap.servers": ",".join(cluster.bootstrap),
            "group.id": group,
            "client.id": client,
            "enable.auto.commit": False,
            **settings,
        }
    )


@pytest.mark.parametrize("protocol", ["consumer", "classic"])
def test_members_of_both_protocols_own_partitions(cluster: DockerCluster, protocol: str) -> None:
    topic = group = own(f"owners-{protocol}")
    topics.create(cluster.brokers, topic, partitions=2, replication_factor=3)
    logs = {(topic, 0), (topic, 1)}

    wait_until(lambda: cluster.coordinator("group", group) is not None)

    def coordinating(message: Any) -> Any:
        node = cluster.coordinator("group", group)
        assert node is not None
        return ask(cluster.brokers[node], message, timeout=5)

    def clients() -> dict[tuple[str, int], str]:
        return {log: member.client for log, member in (owners(coordinating, group) or {}).items()}

    with ExitStack() as stack:
        first = stack.enter_context(closing(member(cluster, group, "a", **{"group.protocol": protocol})))
        first.subscribe([topic])

        def is_owner_of_all() -> bool:
            first.poll(0.1)
            return clients() == dict.fromkeys(logs, "a")

        wait_until(is_owner_of_all)
        first.commit(offsets=[confluent.TopicPartition(topic, 1, 0)], asynchronous=False)
        assert positions(coordinating, group, logs) == {(topic, 1): 0}
        second = stack.enter_context(closing(member(cluster, group, "b", **{"group.protocol": protocol})))
        second.subscribe([topic])

        def has_given_one() -> bool:
            first.poll(0.1)
            second.poll(0.1)
            return clients().keys() == logs and sorted(clients().values()) == ["a", "b"]

        wait_until(has_given_one)
    wait_until(lambda: not clients())
