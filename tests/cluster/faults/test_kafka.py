"""Faults of Kafka itself, on a real cluster."""

from __future__ import annotations

import threading
import time
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from kafka import ConsumerRebalanceListener, KafkaConsumer, KafkaProducer
from kafka.errors import KafkaError

from nemesis.effects.network import Network
from nemesis.effects.nft import Cut
from nemesis.no_clients import NoClients
from nemesis.triggers import Trigger
from nemesis.views import Elected, NeverComes
from pytest_kafkacheck import (
    add_broker,
    add_partitions,
    configure,
    configure_broker,
    delete_controller,
    delete_records,
    elect,
    fence,
    kill,
    leader_storm,
    reassign,
    rebalance,
    recreate_topic,
)
from pytest_kafkacheck.cluster.docker import lifecycle
from pytest_kafkacheck.cluster.docker.boot import running
from pytest_kafkacheck.cluster.docker.cluster import DockerCluster
from pytest_kafkacheck.cluster.docker.lifecycle import DockerMembership
from pytest_kafkacheck.cluster.kafka import metadata_views, topics
from pytest_kafkacheck.cluster.kafka.quick_look import PATIENCE
from pytest_kafkacheck.cluster.kafka.topics import TopicChange
from pytest_kafkacheck.cluster.spec.spec import ClusterSpec
from tests.support.fault_run import LONG, Injection, eventually, produce, unproved
from tests.support.real_cluster import own
from workloads.clients.kafka_python import access

pytestmark = pytest.mark.cluster


def test_preferred_election(cluster: DockerCluster, topic: str) -> None:
    with Injection(cluster, kill(1, lasting=LONG), topic=topic):
        assert eventually(lambda: cluster.leader(topic, 0) in (2, 3))
    lifecycle.wait_settled(cluster)
    assert cluster.leader(topic, 0) in (2, 3), "leadership came back by itself"
    with Injection(cluster, elect(), topic=topic):
        pass
    assert cluster.leader(topic, 0) == 1


def test_unclean_election_of_a_replica_that_lacks_records(cluster: DockerCluster, topic: str) -> None:
    network = Network(cluster.nodes)
    ports = cluster.planes["replication"]
    try:
        network.cut("test", [Cut(1, 2, ports), Cut(2, 1, ports), Cut(1, 3, ports), Cut(3, 1, ports)])
        assert eventually(
            lambda: produce(cluster, topic, acks=1, count=10) == 10 and cluster.isr(topic, 0) == (1,)
        )
        end = cluster.kafka.ends(topic, 0)[1]
        with Injection(cluster, kill(1, lasting=LONG), topic=topic):
            assert eventually(lambda: cluster.leader(topic, 0) is None)
            with Injection(cluster, elect(unclean=True), topic=topic):
                pass
            assert cluster.leader(topic, 0) in (2, 3)
            assert eventually(lambda: cluster.kafka.ends(topic, 0)[1] < end)
    finally:
        network.heal_all()
    lifecycle.wait_settled(cluster)


def test_a_leader_storm_visits_every_replica(cluster: DockerCluster, topic: str) -> None:
    leaders = set()
    with Injection(cluster, leader_storm(lasting=LONG, every=0.3), topic=topic) as injection:
        assert eventually(lambda: bool(leaders.add(cluster.leader(topic, 0))) or leaders >= {1, 2, 3})
    evidence = injection.rows["heal"]["value"]["evidence"]
    assert evidence["changes"] == evidence["elections"] == evidence["beats"] >= 2
    assert cluster.replicas(topic, 0) == (1, 2, 3)
    lifecycle.wait_settled(cluster)


def test_a_partition_moves_and_returns(cluster: DockerCluster, topic: str) -> None:
    with Injection(cluster, reassign(lasting=LONG), topic=topic):
        assert cluster.replicas(topic, 0) == (2, 3, 1)
    assert cluster.replicas(topic, 0) == (1, 2, 3)


def test_a_broker_is_added_and_removed(cluster: DockerCluster, topic: str) -> None:
    with Injection(cluster, add_broker(lasting=LONG), topic=topic):
        assert eventually(lambda: metadata_views.unfenced(cluster.brokers[1]) == {1, 2, 3, 4})
    assert eventually(lambda: metadata_views.unfenced(cluster.brokers[1]) == {1, 2, 3})


@pytest.mark.nightly
def test_a_broker_that_the_controller_does_not_know_was_not_added(
    cluster: DockerCluster, topic: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(DockerMembership, "add_broker", lambda _: 9)
    monkeypatch.setattr(DockerMembership, "remove_broker", lambda *_: None)
    assert (cluster.kafka.registration(2), cluster.kafka.registration(9)) == ("active", "unregistered")
    unproved(Injection(cluster, add_broker(lasting=2), topic=topic))


def test_a_topic_is_recreated(cluster: DockerCluster, topic: str) -> None:
    assert produce(cluster, topic) == 50
    changes: list[TopicChange] = []
    cluster.kafka.report = changes.append
    with Injection(cluster, recreate_topic(), topic=topic):
        pass
    cluster.kafka.report = None
    assert eventually(lambda: cluster.kafka.ends(topic, 0) == (0, 0))
    assert cluster.replicas(topic, 0) == (1, 2, 3)
    deleted, recreated = changes
    assert [each.event for each in changes] == ["deleted", "recreated"]
    assert deleted.completed <= recreated.invoked
    assert deleted.state.id is not None
    assert recreated.state.id == cluster.kafka.topic_id(topic) != deleted.state.id
    for each in changes:
        assert (each.state.partitions, each.state.replication_factor) == (1, 3)
        assert each.state.config["cleanup.policy"] == "delete"
        assert each.state.config.keys() >= {
            "retention.ms",
            "retention.bytes",
            "min.insync.replicas",
            "unclean.leader.election.enable",
        }


def test_partitions_are_added(cluster: DockerCluster, topic: str) -> None:
    with Injection(cluster, add_partitions(count=2), topic=topic):
        pass
    assert cluster.kafka.partitions(topic) == 3


def test_records_are_deleted(cluster: DockerCluster, topic: str) -> None:
    assert produce(cluster, topic) == 50
    with Injection(cluster, delete_records(share=0.4), topic=topic):
        pass
    assert cluster.kafka.ends(topic, 0) == (20, 50)


def test_settings_are_changed_for_a_while(cluster: DockerCluster, topic: str) -> None:
    with Injection(cluster, configure({"max.message.bytes": 200}, lasting=LONG), topic=topic):
        assert eventually(lambda: produce(cluster, topic, count=1, size=1000) == 0)
    assert cluster.kafka.topic_config(topic) == {}
    assert eventually(lambda: produce(cluster, topic, count=1, size=1000) == 1)
    with Injection(cluster, configure_broker({"log.cleaner.threads": 2}, 2, lasting=LONG), topic=topic):
        assert cluster.kafka.broker_config(2)["log.cleaner.threads"] == "2"
        assert "log.cleaner.threads" not in cluster.kafka.broker_config(1)
    assert "log.cleaner.threads" not in cluster.kafka.broker_config(2)


def test_a_producer_is_fenced(cluster: DockerCluster, topic: str) -> None:
    name = own("tx")
    producer = KafkaProducer(**access(cluster.brokers.values()), transactional_id=name)
    producer.init_transactions()
    producer.begin_transaction()
    producer.send(topic, b"before").get(timeout=10)
    assert cluster.coordinator("transaction", name) in cluster.brokers
    with closing(cluster.quick()) as look:
        assert eventually(lambda: look.state("transaction", name) == "Ongoing")
        assert eventually(
            lambda: look.coordinator("transaction", name) == cluster.coordinator("transaction", name)
        )
    with Injection(cluster, fence(f"transaction:{name}"), topic=topic):
        pass
    with pytest.raises(KafkaError):
        producer.send(topic, b"after").get(timeout=10)
    producer.close(timeout=1)


def test_a_group_is_rebalanced(cluster: DockerCluster, topic: str) -> None:
    group = own("group")
    consumer = KafkaConsumer(
        topic,
        group_id=group,
        **access(cluster.brokers.values()),
        session_timeout_ms=6000,
        max_poll_interval_ms=10_000,
    )
    revoked: list[object] = []
    done = threading.Event()

    class Listener(ConsumerRebalanceListener):  # type: ignore[misc]
        def on_partitions_revoked(self, partitions: object) -> None:
            revoked.append(partitions)

        def on_partitions_assigned(self, assigned: object) -> None: ...

    consumer.subscribe([topic], listener=Listener())

    def consume() -> None:
        while not done.is_set():
            consumer.poll(timeout_ms=100)

    assert eventually(lambda: bool(consumer.partitions_for_topic(topic)))
    thread = threading.Thread(target=consume)
    thread.start()
    try:
        assert eventually(lambda: cluster.kafka.group(group) == ("Stable", 1))
        assert cluster.coordinator("group", group) in cluster.brokers
        with closing(cluster.quick()) as look:
            assert eventually(lambda: look.state("group", group) == "Stable")
            assert eventually(lambda: look.coordinator("group", group) == cluster.coordinator("group", group))
        before = len(revoked)
        with Injection(cluster, rebalance(f"group:{group}"), topic=topic):
            pass
        assert eventually(lambda: len(revoked) > before)
    finally:
        done.set()
        thread.join()
        consumer.close()


def test_a_group_of_the_consumer_protocol_is_refused(cluster: DockerCluster, topic: str) -> None:
    """Kafka's older requests describe it as one that does not exist."""
    confluent = pytest.importorskip("confluent_kafka")
    group = own("next-generation")
    watch = Trigger.parse(f"rebalance:{group}").watch(cluster, NoClients(), topic=topic)
    bootstrap = ",".join(cluster.bootstrap)
    consumer = confluent.Consumer(
        {"bootstrap.servers": bootstrap, "group.id": group, "group.protocol": "consumer"}
    )
    with closing(watch), closing(consumer):
        assert not watch.has_come()
        assert watch.seen in ("the state is Dead", "the state is unknown")
        consumer.subscribe([topic])

        def is_refused() -> bool:
            consumer.poll(0.1)
            try:
                assert not watch.has_come()
            except NeverComes as problem:
                return f"group {group} has another protocol than the classic one" in str(problem)
            return False

        assert eventually(is_refused)
        injection = Injection(cluster, rebalance(f"group:{group}"), topic=topic)
        unproved(injection)
        assert "has another protocol than the classic one" in injection.rows["inject"]["error"]


def test_brokers_elect_a_new_controller(engine: Any, tmp_path: Path) -> None:
    with running(
        engine, ClusterSpec(version="3.7.2", zookeepers=1), run=own("depose"), logs=tmp_path
    ) as cluster:
        topics.create(cluster.brokers, "t", partitions=1, replication_factor=3)
        watch = Trigger.parse("controller-change").watch(cluster, NoClients(), topic="t")
        with closing(watch), closing(cluster.quick()) as look:
            assert eventually(lambda: look.controller() == cluster.controller())
            # It connects by itself: what it does not see now, it cannot tell from what comes.
            first = f"the controller is {cluster.controller()}, epoch {cluster.kafka.controller_epoch()}"
            assert eventually(lambda: watch.has_come() or watch.seen == first), watch.seen
            assert not watch.has_come()
            with Injection(cluster, delete_controller(), topic="t") as injection:
                evidence = injection.injected["evidence"]
                assert evidence["epoch"] > evidence["epoch_before"]
            assert cluster.controller() in cluster.brokers
            assert eventually(watch.has_come), watch.seen
            # One look waits 0.2 s for ZooKeeper, and may see nothing on a slow machine.
            elected = Elected(cluster.controller(), cluster.kafka.controller_epoch())
            assert eventually(lambda: look.elected_controller() == elected)
            lifecycle.wait_settled(cluster)
            (zookeeper,) = [node for node in cluster.nodes.values() if node.member.role == "zookeeper"]
            zookeeper.freeze()
            try:
                assert eventually(lambda: look.controller() is None)
                began = time.monotonic()
                assert [look.controller() for _ in range(20)] == [None] * 20
                assert time.monotonic() - began < 20 * PATIENCE, "each look waits for silent servers"
            finally:
                zookeeper.thaw()
            assert eventually(lambda: look.controller() == cluster.controller())
        lifecycle.wait_settled(cluster)
