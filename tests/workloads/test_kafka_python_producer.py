"""Every send with kafka-python ends in one completion."""

from __future__ import annotations

import threading
from collections.abc import Iterable
from typing import Any, NamedTuple

import kafka.errors as errors
import pytest
from kafka import TopicPartition
from kafka.future import Future

from tests.support.fake_metadata import FakeCluster
from workloads.clients.connection import Address
from workloads.clients.kafka_python import producer as producers
from workloads.clients.kafka_python.producer import KafkaPythonProducer
from workloads.clients.outcome import Attempts
from workloads.clients.patches.attempts import SendFailed

LOG = ("t", 0)
OTHER = ("t", 1)


class State(NamedTuple):
    name: str


class FakeProducer:
    """Futures resolve when the test says so."""

    def __init__(self, **config: Any) -> None:
        self.config = config
        self._metadata = FakeCluster()
        self._sender = self
        self._transaction_manager: FakeProducer | None = self
        self.futures: list[Any] = []
        self.refusal: BaseException | None = None
        self.fatal, self.identified, self._current_state = False, True, State("READY")
        self.last_error = errors.MessageSizeTooLargeError()
        self.hangs = threading.Event()

    def send(self, topic: str, value: bytes, partition: int, **keyed: Any) -> Any:
        assert (topic, partition, value, keyed) == (*LOG, b"x", {"key": None, "headers": []})
        if self.refusal is not None:
            raise self.refusal
        self.futures.append(Future())
        return self.futures[-1]

    def is_alive(self) -> bool:
        return True

    def has_fatal_error(self) -> bool:
        return self.fatal

    def has_producer_id(self) -> bool:
        return self.identified

    def close(self, timeout: float) -> None:
        raise errors.KafkaTimeoutError(timeout)

    def force_close(self) -> None:
        """Leaves futures as they are: the worst case."""

    def join(self, timeout: float) -> None:
        """Gone."""


@pytest.fixture
def producer(monkeypatch: pytest.MonkeyPatch) -> KafkaPythonProducer:
    monkeypatch.setattr(producers, "KafkaProducer", FakeProducer)
    monkeypatch.setattr(producers.attempts, "install", lambda: None)
    return KafkaPythonProducer(
        bootstrap=[Address("127.0.0.1", 1)],
        topics=("t",),
        acks="all",
        idempotence=True,
        config={"linger_ms": 5},
    )


def fake(producer: KafkaPythonProducer) -> FakeProducer:
    found: FakeProducer = producer._producer
    return found


class Metadata(NamedTuple):
    """As the library has it; the records of a batch share `topic_partition`."""

    offset: int
    topic_partition: TopicPartition


def acknowledgement(offset: int) -> Metadata:
    """Of a record that is alone in its batch."""
    return Metadata(offset, TopicPartition(*LOG))


def types(completions: Iterable[Any]) -> list[tuple[int, str]]:
    return [(each.op, each.outcome.type) for each in completions]


def test_settings_of_the_workload_take_precedence(producer: KafkaPythonProducer) -> None:
    config = fake(producer).config
    assert (config["linger_ms"], config["acks"], config["enable_idempotence"]) == (5, "all", True)


def test_each_send_has_one_completion(producer: KafkaPythonProducer) -> None:
    for op in range(4):
        producer.send(op, LOG, b"x")
    done, failed, aborted, unknown = fake(producer).futures

    done.success(acknowledgement(7))
    failed.failure(SendFailed(errors.KafkaTimeoutError(), Attempts(drained=False)))
    aborted.failure(SendFailed(errors.IllegalStateError(), Attempts(drained=True, aborted=True)))
    assert types(producer.take(0)) == [(0, "ok"), (1, "fail"), (2, "info")]
    assert producer.in_flight == 1
    assert types(producer.close(0)) == [(3, "info")]
    # It has a completion; a later result does not change it.
    unknown.success(acknowledgement(9))
    assert producer.take(0) == []
    assert producer.in_flight == 0


@pytest.mark.parametrize(
    ("refusal", "kind"),
    [
        (errors.KafkaTimeoutError("no metadata"), "fail"),
        (errors.IllegalStateError("closed"), "fail"),
        (ValueError("no such partition"), "fail"),
        (OSError("could not wake the network thread"), "info"),
    ],
)
def test_a_refusal_is_a_completion(producer: KafkaPythonProducer, refusal: Exception, kind: str) -> None:
    fake(producer).refusal = refusal
    producer.send(1, LOG, b"x")
    assert types(producer.take(0)) == [(1, kind)]


def test_an_untraced_failure_is_info_unless_it_came_before_any_batch(producer: KafkaPythonProducer) -> None:
    producer.send(1, LOG, b"x")
    fake(producer).futures[0].failure(errors.MessageSizeTooLargeError())
    assert types(producer.take(0)) == [(1, "info")]


def test_a_producer_that_cannot_be_used_reports_why(
    producer: KafkaPythonProducer, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert producer.problem() is None
    inner = fake(producer)
    inner.fatal = True
    assert producer.problem() == "poisoned by MessageSizeTooLargeError"
    inner.fatal, inner.identified = False, False
    assert producer.problem() == "wedged: ready, but without a producer id"
    inner._current_state = State("INITIALIZING")
    assert producer.problem() is None
    inner._transaction_manager = None
    monkeypatch.setattr(producers, "STALL", -1.0)
    assert producer.problem() is None
    producer.send(1, LOG, b"x")
    assert producer.problem() == "nothing completed for -1 s"


def test_a_producer_knows_the_epoch_of_the_last_acknowledged_batch(producer: KafkaPythonProducer) -> None:
    """Hints in responses change the metadata without a call of listeners; a later answer may have an older epoch."""
    for op, epoch in enumerate((4, 6)):
        producer.send(op, LOG, b"x")
        fake(producer)._metadata.epochs[TopicPartition(*LOG)] = epoch
        fake(producer).futures[-1].success(acknowledgement(op))
        fake(producer)._metadata.epochs[TopicPartition(*LOG)] = 3
    assert producer.leader_epoch(LOG) == 6


def test_a_producer_remembers_the_highest_epoch(producer: KafkaPythonProducer) -> None:
    fake(producer)._metadata.updated(5)
    fake(producer)._metadata.updated(2)
    assert producer.leader_epoch(LOG) == 5
