"""The table of outcomes with the real kafka-python, on librdkafka's mock cluster: one send, and how it ends."""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import Any

import kafka.errors as errors
import pytest

from tests.support.attempt_patches import attempt_patches
from tests.support.mock_cluster import API_VERSION, PRODUCE, MockCluster, mock_cluster
from tests.support.real_cluster import wait_until
from tests.support.sends import outcome, taken
from workloads.clients.kafka_python.producer import KafkaPythonProducer
from workloads.clients.outcome import Acks, Outcome

LOG, OTHER = ("t", 0), ("t", 1)

NOT_WRITTEN = [
    errors.NotEnoughReplicasError, errors.LeaderNotAvailableError, errors.ThrottlingQuotaExceededError,
]  # fmt: skip

REFUSED = [
    errors.CorruptRecordError, errors.MessageSizeTooLargeError, errors.InvalidTopicError,
    errors.RecordListTooLargeError, errors.InvalidRequiredAcksError, errors.TopicAuthorizationFailedError,
    errors.ClusterAuthorizationFailedError, errors.InvalidTimestampError, errors.UnsupportedVersionError,
    errors.UnsupportedForMessageFormatError, errors.PolicyViolationError, errors.OutOfOrderSequenceNumberError,
    errors.InvalidProducerEpochError, errors.InvalidTxnStateError, errors.InvalidProducerIdMappingError,
    errors.UnknownProducerIdError, errors.UnsupportedCompressionTypeError, errors.InvalidRecordError,
    errors.ProducerFencedError, errors.TransactionAbortableError,
]  # fmt: skip

RETRIED = [
    errors.UnknownTopicOrPartitionError, errors.LeaderNotAvailableError, errors.NotLeaderForPartitionError,
    errors.RequestTimedOutError, errors.NetworkExceptionError, errors.NotEnoughReplicasError,
    errors.NotEnoughReplicasAfterAppendError, errors.KafkaStorageError, errors.ThrottlingQuotaExceededError,
]  # fmt: skip

OF_BROKERS = [
    errors.for_code(code) for code in errors.kafka_errors if code not in (None, errors.NoError.errno)
]

DUPLICATE = errors.DuplicateSequenceNumberError


@pytest.fixture(scope="module", autouse=True)
def _patched() -> Iterator[None]:
    with attempt_patches():
        yield


@pytest.fixture(scope="module")
def cluster() -> Iterator[MockCluster]:
    with mock_cluster() as cluster:
        cluster.create("t", 2)
        cluster.lead(*LOG, 1)
        cluster.lead(*OTHER, 2)
        yield cluster


def producer(
    cluster: MockCluster, *, acks: Acks = "all", idempotence: bool = False, **config: Any
) -> KafkaPythonProducer:
    return KafkaPythonProducer(
        bootstrap=cluster.bootstrap,
        topics=("t",),
        acks=acks,
        idempotence=idempotence,
        config={"api_version": API_VERSION, "retry_backoff_ms": 10, **config},
    )


def test_the_answer_to_a_single_attempt(cluster: MockCluster) -> None:
    """Every error that a broker can return, and one of a later Kafka."""
    one = producer(cluster, retries=0)
    for kind in OF_BROKERS:
        if kind is not DUPLICATE:
            cluster.answer_with(PRODUCE, kind.errno)
            expected = "fail" if kind in (*NOT_WRITTEN, *REFUSED) else "info"
            assert outcome(one) == Outcome(expected, None, kind.__name__)
    cluster.answer_with(PRODUCE, 9999)
    assert outcome(one).type == "info"
    one.close(1)


@pytest.mark.parametrize("acks", ["all", 1])
def test_a_send_is_acknowledged_with_its_offset(cluster: MockCluster, acks: Acks) -> None:
    one = producer(cluster, acks=acks)
    first, second = outcome(one), outcome(one)
    assert (first.type, second.type) == ("ok", "ok")
    assert (first.offset or 0) + 1 == second.offset
    one.close(1)


def test_without_acks_nothing_is_known(cluster: MockCluster) -> None:
    one = producer(cluster, acks=0)
    assert outcome(one) == Outcome("info", None, None)
    one.close(1)


def test_a_batch_that_the_broker_has_already_is_acknowledged_without_an_offset(cluster: MockCluster) -> None:
    one = producer(cluster, idempotence=True)
    cluster.answer_with(PRODUCE, DUPLICATE.errno)
    assert outcome(one) == Outcome("ok", None, None)
    one.close(1)


def test_an_error_before_a_success_is_ok_and_before_a_refusal_unknown(cluster: MockCluster) -> None:
    """Any of these errors may hide an append, or the library may have sent the batch once more."""
    one = producer(cluster)
    for kind in RETRIED:
        cluster.answer_with(PRODUCE, kind.errno)
        assert outcome(one).type == "ok", kind
        cluster.answer_with(PRODUCE, kind.errno, errors.MessageSizeTooLargeError.errno)
        text = f"{kind.__name__}, MessageSizeTooLargeError"
        assert outcome(one) == Outcome("info", None, text)
    one.close(1)


def test_refusals_before_the_append_are_a_failure_however_often(cluster: MockCluster) -> None:
    one = producer(cluster, retries=2)
    cluster.answer_with(PRODUCE, *[errors.NotEnoughReplicasError.errno] * 3)
    assert outcome(one) == Outcome("fail", None, "NotEnoughReplicasError*3")
    one.close(1)


def test_what_the_client_refuses_is_a_failure(cluster: MockCluster) -> None:
    one = producer(cluster, max_request_size=1000)
    assert outcome(one, payload=b"x" * 2000) == Outcome("fail", None, "MessageSizeTooLargeError")
    assert outcome(one, log=("t", 99)) == Outcome("fail", None, "ValueError")
    one.close(1)


def test_without_a_leader_nothing_is_sent() -> None:
    # Of several brokers, one that still runs would name a stopped one as the leader, as real brokers do not, and this
    # library would neither send nor expire a batch.
    with mock_cluster(brokers=1) as cluster:
        cluster.create("t", copies=1)
        one = producer(cluster, delivery_timeout_ms=1500, request_timeout_ms=800)
        assert outcome(one).type == "ok"
        cluster.stop(1)
        # The library learns of it with the first one, which may have been written to a socket.
        outcome(one)
        assert outcome(one) == Outcome("fail", None, "KafkaTimeoutError")
        one.close(0)


def test_a_batch_that_ends_with_the_error_of_another_is_unknown(cluster: MockCluster) -> None:
    """A refusal ends the idempotent producer. A batch that is under way to another broker gets the same error, and is
    written all the same."""
    one = producer(cluster, idempotence=True)
    outcome(one, OTHER)
    cluster.delay(2, 5000)
    try:
        one.send(2, OTHER, b"x")
        batches = one.library_producer._accumulator._incomplete
        wait_until(lambda: all(batch.drained for batch in batches.all()))
        time.sleep(0.2)  # for its request to arrive, which would get the answer below otherwise
        cluster.answer_with(PRODUCE, errors.MessageSizeTooLargeError.errno)
        one.send(3, LOG, b"x")
        ended = {each.op: each.outcome for each in taken(one, 2)}
        assert ended[3] == Outcome("fail", None, "MessageSizeTooLargeError")
        assert ended[2] == Outcome("info", None, "MessageSizeTooLargeError")
        assert one.problem() == "poisoned by MessageSizeTooLargeError"
    finally:
        cluster.delay(2, 0)
        one.close(0)
