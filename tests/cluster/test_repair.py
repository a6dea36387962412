"""What is undone on a cluster whose session cannot do it any more."""

from __future__ import annotations

import logging
from contextlib import suppress

import pytest
from kafka import TopicPartition

from pytest_kafkacheck.cluster.docker import lifecycle
from pytest_kafkacheck.cluster.docker.cluster import DockerCluster
from pytest_kafkacheck.cluster.kafka import dynamic, topics
from pytest_kafkacheck.cluster.kafka.dynamic import ALL, PendingChanges, pending_changes, undo
from tests.support.real_cluster import wait_until

pytestmark = pytest.mark.cluster


def test_reassignments_are_cancelled_and_settings_restored(cluster: DockerCluster) -> None:
    topics.create(cluster.brokers, "moved", assignment={0: [1]})
    wait_until(lambda: cluster.leader("moved", 0) == 1)
    cluster.nodes[3].kill()
    living = {broker: address for broker, address in cluster.brokers.items() if broker != 3}
    try:
        cluster.kafka.reassign("moved", 0, [3])  # which waits for broker 3
        dynamic.set_broker(living, ALL, {"message.max.bytes": "2000000"})
        dynamic.set_broker({1: living[1]}, "1", {"log.retention.ms": "1234000"})

        # The library may still ask the killed broker, and repeats nothing.
        found: list[PendingChanges] = []

        def are_known() -> bool:
            with suppress(OSError):
                found.append(pending_changes(living))
            return bool(found) and set(found[-1].settings) == {ALL, "1"}

        def is_undone() -> bool:
            with suppress(OSError):
                undo(living, found[-1])
            return cluster.replicas("moved", 0) == (1,)

        wait_until(are_known)
        assert found[-1].moving == (TopicPartition("moved", 0),)
        assert sorted(found[-1].describe()) == [
            "all brokers: the setting message.max.bytes=2000000 was made while it ran",
            "broker 1: the setting log.retention.ms=1234000 was made while it ran",
            "moved-0 is being reassigned",
        ]
        wait_until(is_undone)
    finally:
        cluster.nodes[3].start()
        lifecycle.repair(cluster)
        topics.delete(cluster.brokers, "moved")
    assert pending_changes(cluster.brokers).describe() == []


def test_limits_and_clocks_are_found_and_lifted(
    cluster: DockerCluster, caplog: pytest.LogCaptureFixture
) -> None:
    assert cluster.healthy(), caplog.text
    incarnation = cluster.nodes[2].incarnation()
    cluster.nodes[1].limit_cpu(0.5)
    cluster.nodes[2].clock.set(7200)
    cluster.nodes[3].limit_memory(2 << 30)
    with caplog.at_level(logging.WARNING):
        assert not cluster.healthy()
    for text in (
        "kafka1: it is limited to 0.5 cores",
        "kafka2: its clock is 7200 s off",
        "kafka3: it is limited to 2048 MiB",
    ):
        assert text in caplog.text
    lifecycle.repair(cluster)
    assert cluster.healthy()
    assert [node.limits() for node in cluster.nodes.values()] == [[], [], []]
    assert cluster.nodes[2].incarnation() != incarnation, "a process that saw a wrong time is started again"


def test_what_faults_left_at_a_test_s_own_topic_is_found_and_restored(
    cluster: DockerCluster, caplog: pytest.LogCaptureFixture
) -> None:
    """As after a heal that failed: the values before are known from the register alone."""
    topics.create(cluster.brokers, "own", assignment={0: [1, 2], 1: [1, 2]}, config={"flush.messages": "5"})
    try:
        wait_until(lambda: cluster.leader("own", 1) == 1)
        assert cluster.healthy(), caplog.text
        cluster.kafka.configure_topic("own", {"flush.messages": "7", "retention.ms": "86400000"})
        cluster.kafka.reassign("own", 0, [1, 3])
        cluster.kafka.reassign("own", 1, [2, 1])
        wait_until(lambda: (cluster.replicas("own", 0), cluster.replicas("own", 1)) == ((1, 3), (2, 1)))
        with caplog.at_level(logging.WARNING):
            assert not cluster.healthy()
        for text in (
            "topic own: a fault has set flush.messages=7; before, it was 5",
            "topic own: a fault has set retention.ms=86400000; before, it was not set",
            "own-0: a fault has moved its replicas from 1,2 to 1,3",
            "own-1: a fault has moved its replicas from 1,2 to 2,1",
        ):
            assert text in caplog.text
        lifecycle.repair(cluster)
        assert dict(cluster.kafka.topic_config("own")) == {"flush.messages": "5"}
        assert (cluster.replicas("own", 0), cluster.replicas("own", 1)) == ((1, 2), (1, 2))
        assert cluster.healthy()
    finally:
        topics.delete(cluster.brokers, "own")
