"""The table of outcomes on real brokers: a record whose send failed is not in the log, and one whose outcome is not
known may be."""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import Any

import pytest
from kafka import KafkaConsumer, TopicPartition

from pytest_kafkacheck import pause
from pytest_kafkacheck.cluster.docker.cluster import DockerCluster
from pytest_kafkacheck.cluster.kafka import topics
from tests.support.attempt_patches import attempt_patches
from tests.support.real_cluster import own, read, wait_until
from workloads.clients.kafka_python import access
from workloads.clients.library import library
from workloads.clients.outcome import Outcome
from workloads.clients.protocol import Producer

pytestmark = [pytest.mark.cluster, pytest.mark.timeout(180)]

LIMIT = 60.0


@pytest.fixture(scope="module", autouse=True)
def _patched() -> Iterator[None]:
    with attempt_patches():
        yield


def topic(cluster: DockerCluster, name: str, replicas: list[int], config: dict[str, str]) -> str:
    name = own(name)
    topics.create(cluster.brokers, name, assignment={0: replicas}, config=config)
    wait_until(lambda: _leads(cluster, name))
    return name


def _leads(cluster: DockerCluster, topic: str) -> bool:
    """Whether the leader itself has learned of it: a client that repeats nothing gets its refusal otherwise."""
    try:
        return cluster.kafka.ends(topic, 0) == (0, 0)
    except OSError:
        return False


def producer(cluster: DockerCluster, topic: str, name: str, **settings: Any) -> Producer:
    return library(name).producer(
        bootstrap=tuple(cluster.brokers.values()),
        topics=(topic,),
        acks="all",
        idempotence=bool(settings.pop("idempotence", False)),
        settings=settings,
    )


def outcome(one: Producer, topic: str, payload: bytes) -> Outcome:
    """Of one send."""
    one.send(1, (topic, 0), payload)
    deadline = time.monotonic() + LIMIT
    while not (taken := one.take(0.2)):
        assert time.monotonic() < deadline, f"no completion within {LIMIT} s"
    (completion,) = taken
    return completion.outcome


def end(cluster: DockerCluster, topic: str) -> int:
    """Of the log."""
    consumer = KafkaConsumer(**access(cluster.brokers.values()))
    try:
        log = TopicPartition(topic, 0)
        return int(consumer.end_offsets([log])[log])
    finally:
        consumer.close()


@pytest.mark.parametrize(
    ("name", "config", "payload", "error"),
    [
        ("large", {"max.message.bytes": "1000"}, b"x" * 5000, "MessageSizeTooLargeError"),
        ("keyless", {"cleanup.policy": "compact"}, b"x", "InvalidRecordError"),
    ],
)
def test_what_a_broker_refuses_is_not_in_the_log(
    cluster: DockerCluster, name: str, config: dict[str, str], payload: bytes, error: str
) -> None:
    """With kafka-python these are failures. confluent-kafka does not say how often it has tried, so that its
    outcomes are unknown."""
    log = topic(cluster, name, [1], config)
    one = producer(cluster, log, "kafka-python", retries=0)
    assert outcome(one, log, payload) == Outcome("fail", None, error)
    one.close(1)
    two = producer(cluster, log, "confluent-kafka", retries=0)
    assert outcome(two, log, payload).type == "info"
    two.close(1)
    assert end(cluster, log) == 0


@pytest.mark.nightly
def test_too_few_replicas_are_a_failure_once_the_leader_knows(cluster: DockerCluster) -> None:
    """Until the leader removes the paused follower from the ISR, it appends and waits for it."""
    log = topic(cluster, "few", [1, 2], {"min.insync.replicas": "2"})
    one = producer(cluster, log, "kafka-python", retries=0, request_timeout_ms=1000)
    assert outcome(one, log, b"before").type == "ok"
    outcomes: list[Outcome] = []
    with cluster.fault(pause(2)):
        while not outcomes or outcomes[-1].type == "info":
            assert len(outcomes) < 60, outcomes
            outcomes.append(outcome(one, log, b"%d" % len(outcomes)))
    one.close(1)
    cluster.wait_settled()
    assert outcomes[-1] == Outcome("fail", None, "NotEnoughReplicasError")
    assert str(len(outcomes) - 1) not in (values := read(cluster, log))
    assert len(values) == len({*values})


def test_a_wedged_producer_is_noticed_and_its_record_may_be_in_the_log(cluster: DockerCluster) -> None:
    """The leader is paused with the request in its socket. The batch expires; when the leader goes on, it appends."""
    name = topic(cluster, "wedged", [1], {})
    one = producer(
        cluster, name, "kafka-python", idempotence=True, delivery_timeout_ms=2000, request_timeout_ms=1000
    )
    assert outcome(one, name, b"before").type == "ok"
    with cluster.fault(pause(1)):
        late = outcome(one, name, b"late")
    assert late.type == "info"
    wait_until(lambda: one.problem() is not None)
    assert one.problem() == "wedged: ready, but without a producer id"
    one.close(0)
    cluster.wait_settled()
    assert end(cluster, name) in (1, 2)
    two = producer(cluster, name, "kafka-python", idempotence=True)
    assert outcome(two, name, b"after").type == "ok"
    two.close(1)
