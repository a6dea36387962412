"""One broker's wall clock is wrong, as clients see it: in the timestamps that brokers give to records."""

from __future__ import annotations

import time
import uuid
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from kafka.errors import for_code
from kafka.protocol.producer import ProduceRequest
from kafka.record.memory_records import MemoryRecordsBuilder

from pytest_kafkacheck.cluster.docker import lifecycle
from pytest_kafkacheck.cluster.docker.clock import VirtualClock
from pytest_kafkacheck.cluster.docker.cluster import DockerCluster
from pytest_kafkacheck.cluster.docker.node import DockerNode
from pytest_kafkacheck.cluster.kafka import topics
from tests.support.real_cluster import objects, wait_until
from workloads.clients.connection import Address, ask

pytestmark = [pytest.mark.cluster, pytest.mark.nightly]

NEAR = 2.0
"""Seconds of error in these measurements on a busy machine."""

HOUR = 3600.0

Ahead = Callable[[int], float]
"""Returns the seconds by which a broker's clock is ahead of this process's, with an error of up to `NEAR`."""


def shown(broker: Address, topic: str, partition: int) -> float:
    """The broker's time in seconds since the epoch, from the timestamp that it gives to a record."""
    batch = MemoryRecordsBuilder(magic=2, compression_type=0, batch_size=1 << 10)
    batch.append(timestamp=0, key=None, value=b"when")
    batch.close()
    Topic = ProduceRequest.TopicProduceData
    data = Topic.PartitionProduceData(index=partition, records=batch.buffer())
    request = ProduceRequest(
        version=7,
        transactional_id=None,
        acks=1,
        timeout_ms=5000,
        topic_data=[Topic(name=topic, partition_data=[data])],
    )
    (answer,) = ask(broker, request, timeout=5).responses[0].partition_responses
    if answer.error_code:
        raise OSError(f"produce to {topic}-{partition}: {for_code(answer.error_code).__name__}")
    return float(answer.log_append_time_ms) / 1000


@pytest.fixture
def ahead(cluster: DockerCluster) -> Iterator[Ahead]:
    topic = f"clock-{uuid.uuid4().hex[:8]}"
    # The only replica of partition n-1 is on broker n.
    topics.create(
        cluster.brokers,
        topic,
        assignment={node - 1: [node] for node in cluster.brokers},
        config={"message.timestamp.type": "LogAppendTime"},
    )
    wait_until(lambda: all(cluster.leader(topic, node - 1) == node for node in cluster.brokers))

    def of(node: int) -> float:
        answers: list[float] = []

        def asked() -> bool:
            began = time.time()
            try:
                answers.append(shown(cluster.brokers[node], topic, node - 1) - (ended := time.time()))
            except OSError:
                return False  # it has just become the leader and has not learned that yet
            return ended - began < NEAR  # a slow answer says too little

        wait_until(asked)
        return answers[-1]

    yield of
    topics.delete(cluster.brokers, topic)


@pytest.fixture
def clocks(cluster: DockerCluster) -> Iterator[dict[int, VirtualClock]]:
    made = {node.id: of(cluster, node) for node in cluster.nodes.values()}
    yield made
    # A broker whose clock was set back may not connect to its peers again for as long, see VirtualClock. That shows
    # only when a connection breaks, in a later test.
    changed = [node for node, clock in made.items() if clock.read().installed]
    for node in changed:
        made[node].clear()
        cluster.nodes[node].restart()
    lifecycle.wait_settled(cluster)


def of(cluster: DockerCluster, node: DockerNode) -> VirtualClock:
    return VirtualClock(cluster.client, node, owner=cluster.plan.owner)


def near(seconds: float) -> Any:
    return pytest.approx(seconds, abs=NEAR)


def test_a_restarted_process_has_the_right_time(
    cluster: DockerCluster, clocks: dict[int, VirtualClock], ahead: Ahead
) -> None:
    clocks[2].set(HOUR)
    assert clocks[2].read().installed
    cluster.nodes[2].restart()
    wait_until(lambda: cluster.serving(2))
    assert clocks[2].get() == (0, 0)
    assert not clocks[2].read().installed
    assert ahead(2) == near(0)
    clocks[2].set(HOUR)
    assert ahead(2) == near(HOUR)


def test_a_broker_stopped_by_a_signal_stays_stopped_when_its_clock_is_set(
    cluster: DockerCluster, clocks: dict[int, VirtualClock], ahead: Ahead
) -> None:
    node = cluster.nodes[1]
    node.kill()
    node.start()
    wait_until(lambda: cluster.serving(1))
    node.signal("STOP")
    try:
        clocks[1].set(HOUR)
        assert clocks[1].read().installed
        assert node.state() == "paused"
    finally:
        node.signal("CONT")
    assert ahead(1) == near(HOUR)


def test_a_clock_of_a_dead_or_frozen_broker_cannot_be_set_and_no_container_is_left(
    cluster: DockerCluster,
) -> None:
    node = cluster.nodes[3]
    node.kill()
    before = len(objects(cluster.client, cluster.run))
    with pytest.raises(OSError, match="must run"):
        of(cluster, node).set(HOUR)
    node.start()
    wait_until(lambda: cluster.serving(3))
    node.freeze()
    try:
        with pytest.raises(OSError, match="frozen"):
            of(cluster, node).set(HOUR)
    finally:
        node.thaw()
    assert len(objects(cluster.client, cluster.run)) == before
    wait_until(cluster.healthy)
    assert of(cluster, node).get() == (0, 0)
