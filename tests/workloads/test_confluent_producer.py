"""Every send with confluent-kafka ends in one completion."""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import Any

import pytest
from confluent_kafka import KafkaError, KafkaException, Producer

from tests.support.mock_cluster import PRODUCE, MockCluster, mock_cluster
from tests.support.real_cluster import wait_until
from workloads.clients import epochs
from workloads.clients.confluent import producer as producers
from workloads.clients.confluent.producer import ConfluentProducer, check_setting
from workloads.clients.connection import Address
from workloads.clients.library import library

LOG = ("t", 0)
LIBRARY = library("confluent-kafka")


@pytest.fixture
def cluster() -> Iterator[MockCluster]:
    with mock_cluster() as cluster:
        cluster.create("t", partitions=2)
        yield cluster


def producer(cluster: MockCluster, *, idempotence: bool = True, **config: object) -> ConfluentProducer:
    return ConfluentProducer(
        bootstrap=cluster.bootstrap, topics=("t",), acks="all", idempotence=idempotence, config=config
    )


def known_epoch(one: ConfluentProducer) -> int:
    """On a busy machine a broker may take longer than the 0.5 s that a producer waits for one answer."""
    wait_until(lambda: one.leader_epoch(LOG) >= 0)
    return one.leader_epoch(LOG)


def test_each_send_has_one_completion(cluster: MockCluster) -> None:
    one = producer(cluster)
    for op in range(50):
        one.send(op, ("t", op % 2), b"x")
    assert one.in_flight == 50
    taken, deadline = [], time.monotonic() + 10
    while len(taken) < 50 and time.monotonic() < deadline:
        taken += one.take(0.5)
    assert sorted(each.op for each in taken) == list(range(50))
    assert {each.outcome.type for each in taken} == {"ok"}
    assert (one.in_flight, one.take(0), one.problem(), one.close(1)) == (0, [], None, [])


def test_a_close_is_in_time_and_completes_what_is_open(cluster: MockCluster) -> None:
    one = producer(cluster, idempotence=False)
    for broker in (1, 2, 3):
        cluster.delay(broker, 60_000)
    for op in range(10):
        one.send(op, LOG, b"x")
    begun = time.monotonic()
    taken = one.close(0.5)
    assert time.monotonic() - begun < 10
    assert [(each.op, each.outcome.type) for each in taken] == [(op, "info") for op in range(10)]
    assert one.in_flight == 0


def test_after_a_fatal_error_a_producer_reports_a_problem(cluster: MockCluster) -> None:
    one = producer(cluster)
    cluster.answer_with(PRODUCE, *[KafkaError.OUT_OF_ORDER_SEQUENCE_NUMBER] * 5)
    one.send(1, LOG, b"x")
    taken, deadline = [], time.monotonic() + 10
    while not (taken and one.problem()) and time.monotonic() < deadline:
        taken += one.take(0.2)
    assert [each.outcome.type for each in taken] == ["info"]
    assert "fatal error" in (one.problem() or "")
    one.send(2, LOG, b"x")
    assert [(each.op, each.outcome.type) for each in one.take(0)] == [(2, "fail")]
    one.close(1)


def test_a_producer_without_progress_reports_a_problem(
    cluster: MockCluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    one = producer(cluster)
    monkeypatch.setattr(producers, "STALL", -1.0)
    assert one.problem() is None
    one.send(1, LOG, b"x")
    assert one.problem() == "nothing completed for -1 s"
    one.close(1)


def test_the_epoch_follows_the_leader_after_an_acknowledgement(cluster: MockCluster) -> None:
    one = producer(cluster)
    before = known_epoch(one)
    cluster.lead("t", 0, 2)
    cluster.lead("t", 0, 3)
    assert one.leader_epoch(LOG) == before
    one.send(1, LOG, b"x")
    deadline = time.monotonic() + 10
    while not one.take(0.5) and time.monotonic() < deadline:
        pass
    assert known_epoch(one) > before
    one.close(1)


def test_the_epoch_is_unknown_while_a_broker_does_not_answer(
    cluster: MockCluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It may be the one that acknowledged the last send, in a later epoch than the others know."""
    one = producer(cluster)
    before = known_epoch(one)
    silent, ask = cluster.bootstrap[0], epochs.Connection.ask

    def asked(connection: epochs.Connection, request: Any) -> Any:
        if connection._address == silent:
            raise TimeoutError(str(silent))
        return ask(connection, request)

    monkeypatch.setattr(epochs.Connection, "ask", asked)
    monkeypatch.setattr(epochs, "SILENCE", 0)
    one.send(1, LOG, b"x")
    deadline = time.monotonic() + 10
    while not one.take(0.5) and time.monotonic() < deadline:
        pass
    assert [one.leader_epoch(LOG), one.leader_epoch(LOG)] == [-1, -1]
    monkeypatch.setattr(epochs.Connection, "ask", ask)
    assert known_epoch(one) >= before
    one.close(1)


def test_a_producer_without_a_broker_is_an_os_error() -> None:
    with pytest.raises(OSError, match="could not connect"):
        LIBRARY.producer(
            bootstrap=[Address("127.0.0.1", 1)], topics=("t",), acks="all", idempotence=True, settings={}
        )


def test_a_wrong_value_is_a_value_error(cluster: MockCluster) -> None:
    with pytest.raises(ValueError, match="settings of librdkafka's producer"):
        LIBRARY.producer(
            bootstrap=cluster.bootstrap,
            topics=("t",),
            acks="all",
            idempotence=True,
            settings={"linger.ms": "x"},
        )


@pytest.mark.parametrize("name", ["linger.ms", "compression.type", "queue.buffering.max.messages", "retries"])
def test_settings_of_the_library_are_allowed(name: str) -> None:
    check_setting(name)


@pytest.mark.parametrize("name", ["acks", "ssl.ca.pem", "error_cb", "transactional.id", "logger"])
def test_settings_that_the_workload_decides_are_not(name: str) -> None:
    with pytest.raises(ValueError, match="kafkacheck sets this itself"):
        check_setting(name)


def test_names_of_the_other_library_are_refused() -> None:
    with pytest.raises(ValueError, match=r"no setting of that name; its names are as in linger\.ms"):
        check_setting("linger_ms")


def test_a_refusal_is_a_completion(cluster: MockCluster, monkeypatch: pytest.MonkeyPatch) -> None:
    class Refusing(Producer):
        def produce(self, *_: object, **__: object) -> None:
            raise KafkaException(KafkaError(KafkaError._UNKNOWN_TOPIC))

    monkeypatch.setattr(producers, "Library", Refusing)
    one = producer(cluster)
    one.send(1, LOG, b"x")
    assert [(each.op, each.outcome.type) for each in one.take(0)] == [(1, "fail")]
    one.close(1)
