"""Records the attempts of a batch in kafka-python: the library reports only how the last attempt ended.

Its classes are patched in worker processes only. Records of a failed batch end with `SendFailed`, which carries the
error and the attempts.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from kafka.producer.producer_batch import ProducerBatch
from kafka.producer.record_accumulator import RecordAccumulator
from kafka.producer.sender import Sender

from workloads.clients.outcome import Attempt, Attempts

HISTORY = "_kafkacheck_attempts"
ANCESTOR = "_kafkacheck_ancestor"
"""Attributes kept on a batch: its attempts so far, and the attempts of the batch it was split from."""


class SendFailed(Exception):
    """A record's batch ended with `error` after `attempts`."""

    def __init__(self, error: BaseException, attempts: Attempts) -> None:
        super().__init__(error, attempts)
        self.error = error
        self.attempts = attempts


def install() -> None:
    """Patch kafka-python in this process. May be called again.

    Raises AttributeError when the library has changed too much.
    """
    if getattr(Sender, HISTORY, False):
        return
    dispatch, done, abort = Sender._dispatch_error, ProducerBatch.done, ProducerBatch.abort
    split = RecordAccumulator.split_and_reenqueue

    def traced_dispatch(self: Any, batch: Any, exception: Any, partition_response: Any) -> Any:
        name = type(exception).__name__
        _history(batch).append(Attempt(name, "client" if partition_response is None else "broker"))
        return dispatch(self, batch, exception, partition_response)

    def traced_done(
        self: Any,
        base_offset: Any = None,
        timestamp_ms: Any = None,
        top_level_exception: Any = None,
        record_exceptions_fn: Callable[[int], Exception] | None = None,
    ) -> Any:
        exception_of = record_exceptions_fn
        if exception_of is not None:
            attempts = attempts_of(self)

            def with_attempts(index: int) -> SendFailed:
                return SendFailed(exception_of(index), attempts)

            record_exceptions_fn = with_attempts
        return done(self, base_offset, timestamp_ms, top_level_exception, record_exceptions_fn)

    def traced_abort(self: Any, exception: BaseException) -> Any:
        return abort(self, SendFailed(exception, attempts_of(self, aborted=True)))

    def traced_split(self: Any, batch: Any, *args: Any, **kwargs: Any) -> Any:
        before = set(map(id, self._incomplete.all()))
        count = split(self, batch, *args, **kwargs)
        for part in self._incomplete.all():
            if id(part) not in before:
                setattr(part, ANCESTOR, attempts_of(batch))
        return count

    Sender._dispatch_error = traced_dispatch
    ProducerBatch.done, ProducerBatch.abort = traced_done, traced_abort
    RecordAccumulator.split_and_reenqueue = traced_split
    setattr(Sender, HISTORY, True)


def attempts_of(batch: Any, *, aborted: bool = False) -> Attempts:
    """The attempts of a batch so far, with those of the batch that it was split from."""
    before: Attempts | None = getattr(batch, ANCESTOR, None)
    earlier = before or Attempts(drained=False)
    return Attempts(
        drained=earlier.drained or batch.drained is not None,
        retries=earlier.retries + batch.attempts + (before is not None),
        aborted=aborted,
        errors=(*earlier.errors, *_history(batch)),
    )


def _history(batch: Any) -> list[Attempt]:
    found: list[Attempt] = batch.__dict__.setdefault(HISTORY, [])
    return found
