"""Every send with kafka-python ends in one completion."""

from __future__ import annotations

import threading
from collections.abc import Iterable
from typing import Any, NamedTuple

import kafka.errors as errors
import pytest
from kafka import TopicPartition
from kafka.producer.future import FutureProduceResult, FutureRecordMetadata

from tests.support.fake_metadata import FakeCluster
from workloads.clients.connection import Address
from workloads.clients.kafka_python import producer as producers
from workloads.clients.kafka_python.attempts import SendFailed
from workloads.clients.kafka_python.producer import FAILED_ROUNDS, KafkaPythonProducer, close_producer
from workloads.clients.outcome import Attempts

LOG = ("t", 0)
OTHER = ("t", 1)


class State(NamedTuple):
    name: str


class FakeProducer:
    """Batches end when the test says so. capacity: records of each."""

    capacity = 1

    def __init__(self, **config: Any) -> None:
        self.config = config
        self._metadata = FakeCluster()
        self._sender = self
        self._transaction_manager: FakeProducer | None = self
        self.batches: list[FutureProduceResult] = []
        self.futures: list[FutureRecordMetadata] = []
        self.after_append = lambda: None
        self.refusal: BaseException | None = None
        self.fatal, self.identified, self._current_state = False, True, State("READY")
        self.last_error = errors.MessageSizeTooLargeError()
        self.round_error: Exception | None = None
        self.hangs = threading.Event()
        self.is_forced = False

    def send(self, topic: str, value: bytes, partition: int, **keyed: Any) -> Any:
        assert (topic, partition, value, keyed) == (*LOG, b"x", {"key": None, "headers": []})
        if self.refusal is not None:
            raise self.refusal
        number = len(self.futures) % self.capacity
        if number == 0:
            self.batches.append(FutureProduceResult(TopicPartition(*LOG)))
        self.futures.append(FutureRecordMetadata(self.batches[-1], number, None, None, -1, 1, -1))
        self.after_append()
        return self.futures[-1]

    def is_alive(self) -> bool:
        return True

    def run_once(self) -> None:
        if self.round_error is not None:
            raise self.round_error

    def has_fatal_error(self) -> bool:
        return self.fatal

    def has_producer_id(self) -> bool:
        return self.identified

    def close(self, timeout: float) -> None:
        raise errors.KafkaTimeoutError(timeout)

    def force_close(self) -> None:
        """Leaves futures as they are: the worst case."""
        self.is_forced = True

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
    found: FakeProducer = producer.library_producer
    return found


def acknowledge(batch: FutureProduceResult, offset: int) -> None:
    """offset: of its first record."""
    batch.success((offset, -1, None))


def fail(batch: FutureProduceResult, error: Exception) -> None:
    batch.success((-1, -1, lambda _: error))


def types(completions: Iterable[Any]) -> list[tuple[int, str]]:
    return [(each.op, each.outcome.type) for each in completions]


def test_settings_of_the_workload_take_precedence(producer: KafkaPythonProducer) -> None:
    config = fake(producer).config
    assert (config["linger_ms"], config["acks"], config["enable_idempotence"]) == (5, "all", True)


def test_each_send_has_one_completion(producer: KafkaPythonProducer) -> None:
    for op in range(4):
        producer.send(op, LOG, b"x")
    done, failed, aborted, unknown = fake(producer).batches

    acknowledge(done, 7)
    fail(failed, SendFailed(errors.KafkaTimeoutError(), Attempts(drained=False)))
    fail(aborted, SendFailed(errors.IllegalStateError(), Attempts(drained=True, aborted=True)))
    assert types(producer.take(0)) == [(0, "ok"), (1, "fail"), (2, "info")]
    assert producer.in_flight == 1
    assert types(producer.close(0)) == [(3, "info")]
    # It has a completion; a later result does not change it.
    acknowledge(unknown, 9)
    assert producer.take(0) == []
    assert producer.in_flight == 0


def outcomes(producer: KafkaPythonProducer) -> list[tuple[int, str, int | None]]:
    return [(each.op, each.outcome.type, each.outcome.offset) for each in producer.take(0)]


def test_the_records_of_a_batch_have_offsets_one_after_another(producer: KafkaPythonProducer) -> None:
    fake(producer).capacity = 3
    for op in range(5):
        producer.send(op, LOG, b"x")
    first, second = fake(producer).batches
    acknowledge(first, 70)
    assert outcomes(producer) == [(0, "ok", 70), (1, "ok", 71), (2, "ok", 72)]
    second.success((-1, -1, lambda number: errors.KafkaTimeoutError(number)))
    assert outcomes(producer) == [(3, "info", None), (4, "info", None)]


def test_a_batch_that_ends_while_a_record_is_added_completes_it(producer: KafkaPythonProducer) -> None:
    """The network thread may have the answer before the thread that sends has registered its record."""
    inner = fake(producer)
    inner.capacity = 2
    producer.send(0, LOG, b"x")
    inner.after_append = lambda: acknowledge(inner.batches[-1], 70)
    producer.send(1, LOG, b"x")
    assert outcomes(producer) == [(0, "ok", 70), (1, "ok", 71)]


def test_a_batch_that_ends_before_its_first_record_is_registered_completes_it(
    producer: KafkaPythonProducer,
) -> None:
    inner = fake(producer)
    inner.after_append = lambda: acknowledge(inner.batches[-1], 70)
    producer.send(0, LOG, b"x")
    assert outcomes(producer) == [(0, "ok", 70)]


@pytest.mark.parametrize("ends_first", [False, True])
def test_the_records_of_a_batch_that_is_split_end_with_its_halves(
    producer: KafkaPythonProducer, ends_first: bool
) -> None:
    inner = fake(producer)
    inner.capacity = 2
    for op in range(2):
        producer.send(op, LOG, b"x")
    halves = [FutureProduceResult(TopicPartition(*LOG)) for _ in range(2)]
    for future, half in zip(inner.futures, halves, strict=True):
        future.rebind(half, 0)
    if not ends_first:
        assert outcomes(producer) == []
    acknowledge(halves[0], 70)
    fail(halves[1], SendFailed(errors.InvalidRecordError(), Attempts(drained=True)))
    assert [each[:2] for each in outcomes(producer)] == [(0, "ok"), (1, "info")]
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
    fail(fake(producer).batches[0], errors.MessageSizeTooLargeError())
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
        acknowledge(fake(producer).batches[-1], op)
        fake(producer)._metadata.epochs[TopicPartition(*LOG)] = 3
    assert producer.leader_epoch(LOG) == 6


def test_a_producer_remembers_the_highest_epoch(producer: KafkaPythonProducer) -> None:
    fake(producer)._metadata.updated(5)
    fake(producer)._metadata.updated(2)
    assert producer.leader_epoch(LOG) == 5


def test_a_producer_whose_sends_stay_unanswered_is_ended_with_its_thread(
    producer: KafkaPythonProducer,
) -> None:
    """Otherwise the thread goes on for ever, and may use a whole core."""
    close_producer(producer.library_producer, 0.1)
    assert fake(producer).is_forced


def test_a_network_thread_that_fails_in_each_round_is_a_problem_and_one_failure_is_none(
    producer: KafkaPythonProducer,
) -> None:
    inner = fake(producer)
    for _ in range(2):
        inner.round_error = errors.IllegalStateError("unexpected final state")
        for _ in range(FAILED_ROUNDS - 1):
            with pytest.raises(errors.IllegalStateError):
                inner.run_once()
        assert producer.problem() is None
        inner.round_error = None
        inner.run_once()
    inner.round_error = errors.IllegalStateError("unexpected final state")
    for _ in range(FAILED_ROUNDS):
        with pytest.raises(errors.IllegalStateError):
            inner.run_once()
    assert "fails in each round: IllegalStateError" in (producer.problem() or "")
