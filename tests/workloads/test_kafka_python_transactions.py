"""Transactions with kafka-python, on librdkafka's mock cluster: how each ends, and when a producer ends with it."""

from __future__ import annotations

import time
from collections.abc import Iterator
from threading import Timer
from typing import Any

import kafka.errors as errors
import pytest
from kafka.producer.transaction_manager import TransactionState

from tests.support.attempt_patches import attempt_patches
from tests.support.mock_cluster import API_VERSION, END_TXN, PRODUCE, MockCluster, mock_cluster
from workloads.clients.library import library
from workloads.clients.protocol import OUTSIDE, Completion, Ending, TransactionalProducer

LOG = ("t", 0)
LIBRARY = library("kafka-python")
LIMIT = 10.0
SHORT = 0.5
"""Seconds after which a transaction's end is given up, where it never comes."""


@pytest.fixture(scope="module", autouse=True)
def _patched() -> Iterator[None]:
    with attempt_patches():
        yield


@pytest.fixture(scope="module")
def shared() -> Iterator[MockCluster]:
    """For tests that stop and delay nothing."""
    with mock_cluster() as cluster:
        cluster.create("t")
        yield cluster


@pytest.fixture
def cluster() -> Iterator[MockCluster]:
    """Broker 1 leads the partition, broker 2 coordinates the transactions."""
    with mock_cluster() as cluster:
        cluster.create("t")
        cluster.lead(*LOG, 1)
        cluster.coordinate("x", 2, "transaction")
        yield cluster


def producer(cluster: MockCluster, **settings: Any) -> TransactionalProducer:
    return LIBRARY.transactional(
        bootstrap=cluster.bootstrap,
        topics=("t",),
        transactional_id="x",
        timeout=5,
        settings={"api_version": API_VERSION, "retry_backoff_ms": 10, **settings},
    )


def send(one: TransactionalProducer, op: int = 1) -> Completion:
    one.send(op, LOG, b"x")
    deadline = time.monotonic() + LIMIT
    while not (taken := one.take(0.2)):
        assert time.monotonic() < deadline, f"no completion within {LIMIT} s"
    (completion,) = taken
    return completion


def test_transactions_are_committed_and_aborted(shared: MockCluster) -> None:
    one = producer(shared)
    assert one.producer_id is not None
    assert one.epoch is not None
    for op, outcome in enumerate(("commit", "abort", "commit")):
        one.begin()
        assert send(one, op).outcome.type == "ok"
        assert one.end(outcome, LIMIT) == Ending("ok")
    assert one.problem() is None
    assert one.close(1) == []


def test_positions_of_a_member_that_was_replaced_are_refused(shared: MockCluster) -> None:
    """A coordinator would take them from anyone."""
    one = producer(shared)
    one.begin()
    assert one.add_positions({LOG: 3}, None, LIMIT) == Ending("fail", OUTSIDE)
    assert one.end("abort", LIMIT) == Ending("ok")
    one.close(0)


@pytest.mark.parametrize(
    "kind",
    [
        errors.ConcurrentTransactionsError,
        errors.NotCoordinatorError,
        errors.CoordinatorNotAvailableError,
        errors.CoordinatorLoadInProgressError,
        errors.RequestTimedOutError,
    ],
)
def test_a_commit_that_the_library_repeats_is_acknowledged(shared: MockCluster, kind: Any) -> None:
    one = producer(shared)
    one.begin()
    send(one)
    shared.answer_with(END_TXN, kind.errno)
    assert one.end("commit", LIMIT) == Ending("ok")
    one.begin()
    one.close(0)


@pytest.mark.parametrize(
    ("kind", "error"),
    [
        (errors.InvalidProducerEpochError, "ProducerFencedError"),
        (errors.ProducerFencedError, "ProducerFencedError"),
        (errors.InvalidTxnStateError, "InvalidTxnStateError"),
        (errors.TransactionalIdAuthorizationFailedError, "TransactionalIdAuthorizationFailedError"),
        (errors.InvalidProducerIdMappingError, "KafkaError"),
        (errors.TransactionAbortableError, "KafkaError"),
        (errors.UnknownError, "KafkaError"),
    ],
)
def test_a_commit_that_is_refused_is_unknown_and_ends_the_producer(
    shared: MockCluster, kind: Any, error: str
) -> None:
    """An attempt before this answer may have committed, for example that of a fenced producer."""
    one = producer(shared)
    one.begin()
    send(one)
    shared.answer_with(END_TXN, kind.errno)
    assert one.end("commit", LIMIT) == Ending("info", error)
    assert one.problem() == f"poisoned by {error}"
    with pytest.raises(OSError, match="cannot begin a transaction"):
        one.begin()
    one.close(0)


@pytest.mark.parametrize(
    "kind",
    [
        errors.OutOfOrderSequenceNumberError,
        errors.UnknownProducerIdError,
        errors.InvalidProducerEpochError,
        errors.ProducerFencedError,
        errors.InvalidTxnStateError,
    ],
)
def test_a_send_that_ends_the_producer_lets_nothing_be_committed(shared: MockCluster, kind: Any) -> None:
    one = producer(shared)
    one.begin()
    shared.answer_with(PRODUCE, kind.errno)
    assert send(one).outcome.type == "fail"
    assert one.problem() == f"poisoned by {kind.__name__}"
    assert one.end("commit", LIMIT) == Ending("fail", kind.__name__)
    one.close(0)


@pytest.mark.parametrize(
    ("kind", "outcome"),
    [
        (errors.TopicAuthorizationFailedError, "fail"),
        (errors.MessageSizeTooLargeError, "fail"),
        (errors.UnknownError, "info"),
    ],
)
def test_a_transaction_with_a_failed_send_can_only_be_aborted(
    shared: MockCluster, kind: Any, outcome: str
) -> None:
    one = producer(shared)
    one.begin()
    shared.answer_with(PRODUCE, kind.errno)
    assert send(one).outcome.type == outcome
    assert one.end("commit", LIMIT) == Ending("fail", kind.__name__)
    assert one.end("abort", LIMIT) == Ending("ok")
    assert one.problem() is None
    one.begin()
    one.close(0)


def test_a_commit_that_the_state_of_the_library_does_not_allow_is_unknown(shared: MockCluster) -> None:
    """With brokers from 2.5, an OutOfOrderSequence bumps the epoch and leaves the transaction without a word."""
    one = producer(shared)
    one.begin()
    send(one)
    one._producer._transaction_manager._current_state = TransactionState.READY  # type: ignore[attr-defined]
    assert one.end("commit", LIMIT) == Ending("info", "KafkaError")
    one.close(0)


def test_a_commit_whose_coordinator_crashes_is_unknown_in_time(cluster: MockCluster) -> None:
    """kafka-python 3.0.12 loses the request, and its own call has no end."""
    one = producer(cluster)
    one.begin()
    assert send(one).outcome.type == "ok"
    cluster.delay(2, 60_000)
    crash = Timer(SHORT, cluster.stop, [2])
    crash.start()
    begun = time.monotonic()
    assert one.end("commit", 4 * SHORT) == Ending("info", f"no answer within {4 * SHORT:g} s")
    crash.join()
    one.close(0)
    assert time.monotonic() - begun < LIMIT


def test_the_next_producer_claims_the_id_of_one_whose_commit_is_stuck(cluster: MockCluster) -> None:
    one = producer(cluster)
    one.begin()
    send(one)
    cluster.delay(2, 60_000)
    assert one.end("commit", SHORT).type == "info"
    one.close(0)
    cluster.delay(2, 0)
    cluster.coordinate("x", 3, "transaction")
    two = producer(cluster)
    two.begin()
    assert send(two).outcome.type == "ok"
    assert two.end("commit", LIMIT) == Ending("ok")
    two.close(0)


def test_an_id_whose_coordinator_is_down_is_an_os_error(cluster: MockCluster) -> None:
    cluster.stop(2)
    with pytest.raises(OSError, match="x could not be claimed: KafkaTimeoutError"):
        producer(cluster, max_block_ms=1000)
