"""Triggers, on a real cluster."""

from __future__ import annotations

import threading
from collections.abc import Callable
from contextlib import ExitStack, closing

import pytest
from kafka import KafkaConsumer, KafkaProducer

from nemesis.no_clients import NoClients
from nemesis.triggers import Trigger
from pytest_kafkacheck import isolate, kill, pause
from pytest_kafkacheck.cluster.docker import lifecycle
from pytest_kafkacheck.cluster.docker.cluster import DockerCluster
from pytest_kafkacheck.experiment.clients import WorkerClients
from tests.support.fault_run import LIMIT, LONG, Injection, eventually
from tests.support.real_cluster import own
from workloads.clients.kafka_python import access
from workloads.workers.pool import WorkerPool

pytestmark = pytest.mark.cluster


@pytest.mark.nightly
def test_events_begin_after_their_trigger(cluster: DockerCluster, topic: str, workers: WorkerPool) -> None:
    clients = WorkerClients(workers)
    wanted = workers.acknowledged() + 100
    with Injection(cluster, pause(2, after=f"acks:{wanted}", lasting=LONG), topic=topic, clients=clients):
        assert workers.acknowledged() >= wanted
    with Injection(cluster, kill("controller", lasting=LONG), topic=topic, clients=clients):
        pass
    lifecycle.wait_settled(cluster)
    cut = Injection(cluster, isolate("follower", lasting=LONG), topic=topic, clients=clients)
    cut.__enter__()
    try:
        waiting = pause("out-of-sync", after="isr-shrink", lasting=LONG)
        with Injection(cluster, waiting, topic=topic, clients=clients) as injection:
            assert injection.nodes == cut.nodes
            cut.__exit__(None)
    finally:
        cut.finish()
    lifecycle.wait_settled(cluster)


def test_every_trigger_comes(cluster: DockerCluster, topic: str) -> None:
    with ExitStack() as opened:

        def watch(text: str) -> Callable[[], bool]:
            watch = Trigger.parse(text).watch(cluster, NoClients(), topic=topic)
            return opened.enter_context(closing(watch)).has_come

        every_trigger_comes(cluster, topic, watch)


def every_trigger_comes(
    cluster: DockerCluster, topic: str, watch: Callable[[str], Callable[[], bool]]
) -> None:
    name, group = own("moment"), own("moments")
    producer = KafkaProducer(**access(cluster.brokers.values()), transactional_id=name)
    producer.init_transactions()
    open_now, rebalanced = watch(f"transaction:{name}"), watch(f"rebalance:{group}")
    assert not open_now()
    assert not rebalanced()
    producer.begin_transaction()
    producer.send(topic, b"within").get(timeout=LIMIT)
    assert eventually(open_now)
    producer.commit_transaction()
    assert eventually(lambda: not open_now())
    producer.close()
    consumers = [KafkaConsumer(topic, group_id=group, **access(cluster.brokers.values())) for _ in range(2)]
    # One that joins before it knows the topic's partitions hands out none, and kafka-python leaves it at that.
    assert all(eventually(lambda each=each: bool(each.partitions_for_topic(topic))) for each in consumers)  # type: ignore[misc]
    try:
        assert eventually(lambda: bool(consumers[0].poll(timeout_ms=100)) or bool(consumers[0].assignment()))
        # The second one joins, and the first one does not answer: the group is between two generations.
        joining = threading.Thread(target=lambda: consumers[1].poll(timeout_ms=5000))
        joining.start()
        assert eventually(rebalanced)
        joining.join()
    finally:
        for consumer in consumers:
            consumer.close()
    assert eventually(lambda: cluster.controller() is not None)
    deposed, controllers = watch("controller-change"), [cluster.controller()]
    assert not deposed()
    with Injection(cluster, kill("controller", lasting=LONG), topic=topic) as injection:
        assert eventually(lambda: deposed() or bool(controllers.append(cluster.controller()))), (
            injection.nodes,
            controllers,
        )
    lifecycle.wait_settled(cluster)
    cluster.kafka.elect(topic, 0, unclean=False)
    assert eventually(lambda: cluster.leader(topic, 0) == 1)
    moved, shrunk, full = map(watch, ("leader-change", "isr-shrink", "isr-full"))
    assert not any(each() for each in (moved, shrunk, full))
    with Injection(cluster, kill("leader", lasting=LONG), topic=topic) as injection:
        assert injection.nodes == [1]
        assert eventually(moved)
        assert eventually(shrunk)
        assert not full()
    assert eventually(full)
    lifecycle.wait_settled(cluster)
    cluster.kafka.elect(topic, 0, unclean=False)
    assert eventually(lambda: cluster.leader(topic, 0) == 1)
    moved = watch("leader-change")
    assert not moved()
    for replicas in ([2, 3, 1], [1, 2, 3]):
        cluster.kafka.reassign(topic, 0, replicas)
        assert eventually(lambda replicas=replicas: cluster.replicas(topic, 0) == tuple(replicas))  # type: ignore[misc]
        cluster.kafka.elect(topic, 0, unclean=False)
        assert eventually(lambda replicas=replicas: cluster.leader(topic, 0) == replicas[0])  # type: ignore[misc]
    assert eventually(moved), "the leader is the same one again, after two elections"
    lifecycle.wait_settled(cluster)
