"""The batches of kafka-python carry the number and the outcome of their attempts."""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import Any

import kafka.errors as errors
import pytest
from kafka import TopicPartition
from kafka.producer.record_accumulator import RecordAccumulator
from kafka.producer.sender import Sender

from tests.support.attempt_patches import attempt_patches
from workloads.clients.kafka_python import attempts
from workloads.clients.kafka_python.attempts import SendFailed, attempts_of
from workloads.clients.outcome import Attempt

LOG = TopicPartition("t", 0)


@pytest.fixture(autouse=True)
def _patched() -> Iterator[None]:
    with attempt_patches():
        yield


@pytest.fixture
def accumulator() -> RecordAccumulator:
    return RecordAccumulator(message_version=2, delivery_timeout_ms=60_000, linger_ms=0, batch_size=10_000)


@pytest.fixture
def sender(accumulator: RecordAccumulator) -> Any:
    """A Sender that is never started, without a network."""

    class Cluster:
        def request_update(self) -> None:
            """Nothing to update."""

    class Client:
        cluster = Cluster()

    return Sender(Client(), None, accumulator, guarantee_message_order=True)


def append(accumulator: RecordAccumulator, payload: bytes = b"x") -> tuple[Any, Any]:
    """A record's future, and its batch."""
    future = accumulator.append(LOG, None, None, payload, [])[0]
    (batch,) = accumulator._incomplete.all()
    return future, batch


def failure(future: Any) -> SendFailed:
    assert future.failed()
    assert isinstance(future.exception, SendFailed)
    return future.exception


def drain(accumulator: RecordAccumulator, batch: Any) -> None:
    accumulator._batches[LOG].remove(batch)
    batch.records.close()
    batch.drained = time.monotonic()


def test_never_drained(accumulator: RecordAccumulator) -> None:
    future, _ = append(accumulator)
    accumulator.abort_batches(errors.IllegalStateError("closed"))
    failed = failure(future)
    assert isinstance(failed.error, errors.IllegalStateError)
    assert (failed.attempts.drained, failed.attempts.aborted) == (False, True)


def test_every_attempt_has_the_origin_of_its_end(accumulator: RecordAccumulator, sender: Any) -> None:
    future, batch = append(accumulator)
    drain(accumulator, batch)
    sender._complete_batch_with_exception(batch, errors.RequestTimedOutError("slow"))
    assert not future.is_done
    assert batch.attempts == 1
    response = sender._record_exceptions_fn  # the library's own way from a response to an exception
    assert callable(response)

    class Response:
        error_code = errors.InvalidRecordError.errno
        error_message = "bad"
        record_errors = ()
        log_start_offset = 0

    sender._complete_batch(batch, Response())
    failed = failure(future)
    assert isinstance(failed.error, errors.InvalidRecordError)
    assert failed.attempts.errors == (
        Attempt("RequestTimedOutError", "client"),
        Attempt("InvalidRecordError", "broker"),
    )
    assert (failed.attempts.drained, failed.attempts.retries, failed.attempts.aborted) == (True, 1, False)


def test_halves_of_a_split_batch_inherit_its_attempts(accumulator: RecordAccumulator, sender: Any) -> None:
    futures = [append(accumulator)[0] for _ in range(2)]
    (batch,) = accumulator._incomplete.all()
    drain(accumulator, batch)
    sender._complete_batch_with_exception(batch, errors.MessageSizeTooLargeError("big"))
    halves = accumulator._incomplete.all()
    assert len(halves) == 2
    for half in halves:
        tried = attempts_of(half)
        assert (tried.drained, tried.retries) == (True, 1)
        assert tried.errors == (Attempt("MessageSizeTooLargeError", "client"),)
    accumulator.abort_batches(errors.IllegalStateError("closed"))
    assert all(failure(future).attempts.drained for future in futures)


def test_success_is_untouched(accumulator: RecordAccumulator) -> None:
    future, batch = append(accumulator)
    drain(accumulator, batch)
    batch.complete(41, -1)
    assert future.succeeded()
    assert future.value.offset == 41


def test_installing_twice_records_once(accumulator: RecordAccumulator, sender: Any) -> None:
    attempts.install()
    _, batch = append(accumulator)
    drain(accumulator, batch)
    sender._complete_batch_with_exception(batch, errors.RequestTimedOutError("slow"))
    assert len(attempts_of(batch).errors) == 1
