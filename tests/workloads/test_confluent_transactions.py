"""Transactions with confluent-kafka: how each ends, and when a producer ends with it."""

from __future__ import annotations

import time
from collections.abc import Iterator

import pytest
from confluent_kafka import KafkaError

from tests.support.mock_cluster import END_TXN, PRODUCE, MockCluster, mock_cluster
from workloads.clients.connection import Address
from workloads.clients.library import library
from workloads.clients.protocol import OUTSIDE, Completion, Ending, TransactionalProducer

LOG = ("t", 0)
LIBRARY = library("confluent-kafka")


@pytest.fixture
def cluster() -> Iterator[MockCluster]:
    with mock_cluster() as cluster:
        cluster.create("t")
        yield cluster


def producer(cluster: MockCluster, transactional_id: str = "x") -> TransactionalProducer:
    return LIBRARY.transactional(
        bootstrap=cluster.bootstrap, topics=("t",), transactional_id=transactional_id, timeout=5, settings={}
    )


def send(one: TransactionalProducer, op: int) -> list[Completion]:
    one.send(op, LOG, b"x")
    deadline = time.monotonic() + 10
    taken: list[Completion] = []
    while not taken and time.monotonic() < deadline:
        taken = one.take(0.5)
    return taken


def test_transactions_are_committed_and_aborted(cluster: MockCluster) -> None:
    one = producer(cluster)
    assert one.producer_id is not None
    assert one.epoch is not None
    for op, outcome in enumerate(("commit", "abort", "commit")):
        one.begin()
        assert [each.outcome.type for each in send(one, op)] == ["ok"]
        assert one.end(outcome, 5).type == "ok"
    assert one.problem() is None
    assert one.close(1) == []


def test_positions_of_a_member_that_was_replaced_are_refused(cluster: MockCluster) -> None:
    """A coordinator would take them from anyone."""
    one = producer(cluster)
    one.begin()
    assert one.add_positions({("t", 0): 3}, None, 5) == Ending("fail", OUTSIDE)
    assert one.end("abort", 5).type == "ok"
    one.close(0)


def test_positions_without_an_answer_are_unknown_in_time(cluster: MockCluster) -> None:
    """While the group's coordinator is down, the library's own call has no end."""
    cluster.coordinate("g", 2)
    member = LIBRARY.member(
        bootstrap=cluster.bootstrap, topics=("t",), group="g", settings={"session_timeout": 6}
    )
    deadline = time.monotonic() + 15
    while member.generation is None:
        assert time.monotonic() < deadline
        member.poll(0.1)
    one = producer(cluster)
    one.begin()
    send(one, 1)
    cluster.stop(2)
    begun = time.monotonic()
    assert one.add_positions({LOG: 3}, member.membership, 1) == Ending("info", "no answer within 1 s")
    one.close(0)
    member.close()
    assert time.monotonic() - begun < 15


def test_a_fenced_commit_is_unknown(cluster: MockCluster) -> None:
    one = producer(cluster)
    one.begin()
    send(one, 1)
    cluster.answer_with(END_TXN, KafkaError.INVALID_PRODUCER_EPOCH)
    ending = one.end("commit", 5)
    assert (ending.type, ending.error) == ("info", "_FENCED")
    one.take(0)
    assert "fatal error" in (one.problem() or "")
    with pytest.raises(OSError, match="can begin no transaction"):
        one.begin()
    one.close(1)


def test_a_commit_without_an_answer_is_unknown_in_time(cluster: MockCluster) -> None:
    one = producer(cluster)
    one.begin()
    send(one, 1)
    for broker in (1, 2, 3):
        cluster.delay(broker, 60_000)
    begun = time.monotonic()
    assert one.end("commit", 0.5).type == "info"
    one.close(0)
    assert time.monotonic() - begun < 10


def test_a_commit_with_a_failed_send_is_aborted_and_a_failure(cluster: MockCluster) -> None:
    one = producer(cluster)
    one.begin()
    cluster.answer_with(PRODUCE, KafkaError.TOPIC_AUTHORIZATION_FAILED)
    assert [each.outcome.type for each in send(one, 1)] == ["info"]
    assert one.end("commit", 5).type == "fail"
    one.close(1)


def test_an_id_without_a_coordinator_is_an_os_error() -> None:
    with pytest.raises(OSError, match="could not connect"):
        LIBRARY.transactional(
            bootstrap=[Address("127.0.0.1", 1)], topics=("t",), transactional_id="x", timeout=1, settings={}
        )
