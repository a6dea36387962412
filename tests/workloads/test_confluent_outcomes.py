"""With confluent-kafka only refusals before the queue are failures, whatever error a delivery report has."""

from __future__ import annotations

import time
from collections.abc import Iterator

import confluent_kafka
import pytest
from confluent_kafka import KafkaError, KafkaException

from tests.support.mock_cluster import PRODUCE, MockCluster, mock_cluster
from tests.support.repetitions import repetitions
from workloads.clients.confluent.producer import NOT_QUEUED, ConfluentProducer, of_refusal, of_report
from workloads.clients.outcome import Acks, Outcome
from workloads.clients.protocol import Completion

LOG = ("t", 0)
LIMIT = 10.0


@pytest.fixture(scope="module")
def cluster() -> Iterator[MockCluster]:
    with mock_cluster() as cluster:
        cluster.create("t")
        yield cluster


def producer(cluster: MockCluster, acks: Acks = "all", **settings: object) -> ConfluentProducer:
    return ConfluentProducer(
        bootstrap=cluster.bootstrap,
        topics=("t",),
        acks=acks,
        idempotence=False,
        config={name.replace("_", "."): value for name, value in settings.items()},
    )


def completion(one: ConfluentProducer, log: tuple[str, int] = LOG, payload: bytes = b"x") -> Completion:
    """Of one send."""
    one.send(1, log, payload)
    deadline = time.monotonic() + LIMIT
    while time.monotonic() < deadline:
        if completions := one.take(0.5):
            (only,) = completions
            return only
    raise AssertionError(f"no completion within {LIMIT} s")


def test_what_produce_refuses_is_a_failure() -> None:
    for error in map(KafkaError, NOT_QUEUED):
        assert of_refusal(KafkaException(error)) == Outcome("fail", None, error.name())


def test_a_full_queue_is_a_failure() -> None:
    one = confluent_kafka.Producer({"bootstrap.servers": "", "queue.buffering.max.messages": 1})
    one.produce("t", b"x")
    with pytest.raises(BufferError) as caught:
        one.produce("t", b"x")
    assert of_refusal(caught.value) == Outcome("fail", None, "_QUEUE_FULL")
    one.purge(blocking=False)
    one.flush(1)


@pytest.mark.parametrize("error", [TypeError("x"), ValueError("x")])
def test_a_wrong_argument_is_a_failure(error: Exception) -> None:
    assert of_refusal(error) == Outcome("fail", None, type(error).__name__)


@pytest.mark.parametrize("error", [KafkaException(KafkaError(KafkaError._TRANSPORT)), OSError("x")])
def test_a_refusal_that_is_not_listed_is_unknown(error: Exception) -> None:
    assert of_refusal(error).type == "info"


@pytest.mark.parametrize(
    ("offset", "acks", "expected"),
    [
        (7, "all", Outcome("ok", 7, None)),
        (7, 1, Outcome("ok", 7, None)),
        (None, "all", Outcome("ok", None, None)),
        (-1, "all", Outcome("ok", None, None)),
        (0, 0, Outcome("info", None, None)),
    ],
)
def test_an_acknowledgement(offset: int | None, acks: Acks, expected: Outcome) -> None:
    assert of_report(acks=acks, offset=offset, error=None) == expected


def test_no_error_of_a_report_is_ok_or_a_failure() -> None:
    for code in {*range(-200, 130)} - {0, -100}:
        assert of_report(acks="all", offset=5, error=KafkaError(code)).type == "info", code


def test_a_send_is_acknowledged_with_its_offset(cluster: MockCluster) -> None:
    one = producer(cluster)
    first, second = completion(one), completion(one)
    assert (first.outcome.type, second.outcome.type) == ("ok", "ok")
    assert (first.outcome.offset or 0) + 1 == second.outcome.offset
    one.close(1)


NOT_RETRIED = (
    KafkaError.INVALID_MSG,
    KafkaError.MSG_SIZE_TOO_LARGE,
    KafkaError.TOPIC_AUTHORIZATION_FAILED,
    KafkaError.INVALID_REQUIRED_ACKS,
    KafkaError.UNKNOWN,
)
RETRIED = (
    KafkaError.NOT_LEADER_FOR_PARTITION,
    KafkaError.REQUEST_TIMED_OUT,
    KafkaError.NOT_ENOUGH_REPLICAS,
    KafkaError.NOT_ENOUGH_REPLICAS_AFTER_APPEND,
)


def test_no_answer_of_a_broker_is_a_failure(cluster: MockCluster) -> None:
    """Every error that a broker can return, and some of later versions: the library sends again, or reports it. Each
    has a producer of its own: after some errors, it asks for no more."""
    codes = sorted({*range(-1, 130)} - {KafkaError.NO_ERROR})
    for code in {*codes[:: repetitions(1, shorter=5)], *RETRIED}:
        one = producer(cluster, retry_backoff_ms=10)
        cluster.answer_with(PRODUCE, code)
        outcome, name = completion(one).outcome, KafkaError(code).name()
        assert outcome.type in ("ok", "info"), name
        if code in RETRIED:
            assert outcome.type == "ok", name
        one.close(1)


def test_an_error_that_is_not_retried_is_unknown(cluster: MockCluster) -> None:
    for code in NOT_RETRIED:
        one = producer(cluster, retries=0)
        cluster.answer_with(PRODUCE, code)
        assert completion(one).outcome == Outcome("info", None, KafkaError(code).name())
        one.close(1)


def test_the_library_retries_without_counting(cluster: MockCluster) -> None:
    """So an error is not known to be that of the only attempt, also with retries=0: a broker may return the first of
    these codes after it has appended."""
    one = producer(cluster, retries=0)
    cluster.answer_with(PRODUCE, KafkaError.NOT_LEADER_FOR_PARTITION, KafkaError.MSG_SIZE_TOO_LARGE)
    assert completion(one).outcome == Outcome("info", None, "MSG_SIZE_TOO_LARGE")
    one.close(1)


def test_a_message_that_expires_is_unknown(cluster: MockCluster) -> None:
    one = producer(cluster, message_timeout_ms=300, request_timeout_ms=200)
    for broker in (1, 2, 3):
        cluster.delay(broker, 2000)
    try:
        assert completion(one).outcome == Outcome("info", None, "_MSG_TIMED_OUT")
    finally:
        for broker in (1, 2, 3):
            cluster.delay(broker, 0)
        one.close(1)


def test_what_the_client_finds_too_large_or_without_partition_is_a_failure(cluster: MockCluster) -> None:
    one = producer(cluster, message_max_bytes=1000)
    assert completion(one, payload=b"x" * 2000).outcome == Outcome("fail", None, "MSG_SIZE_TOO_LARGE")
    assert completion(one, log=("t", 99)).outcome.type in ("fail", "info")
    one.close(1)
