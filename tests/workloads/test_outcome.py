"""The table of outcomes, row by row; and that kafka-python's batches are traced as the table needs it."""

from __future__ import annotations

from itertools import product
from typing import Any

import kafka.errors as errors
import pytest

from workloads.clients.outcome import NEVER_SENT, Attempt, Attempts, Outcome, acknowledged, refused


def by(origin: Any, *names: str) -> list[Attempt]:
    return [Attempt(name, origin) for name in names]


def ended(error: BaseException, *before: Attempt, origin: Any = "broker", **values: Any) -> str:
    tried = Attempts(
        drained=True,
        retries=len(before),
        errors=(*before, Attempt(type(error).__name__, origin)),
        **values,
    )
    return refused(error, tried).type


@pytest.mark.parametrize(
    ("acks", "offset", "outcome"),
    [
        ("all", 7, Outcome("ok", 7, None)),
        ("all", -1, Outcome("ok", None, None)),  # a duplicate of an older batch: the broker names no offset
        (1, 7, Outcome("ok", 7, None)),
        (0, 0, Outcome("info", None, None)),  # the library makes up an offset
    ],
)
def test_metadata(acks: Any, offset: int, outcome: Outcome) -> None:
    assert acknowledged(acks, offset) == outcome


@pytest.mark.parametrize(
    "error",
    [
        errors.KafkaTimeoutError("metadata"), ValueError("unknown partition"), TypeError("not bytes"),
        errors.MessageSizeTooLargeError("client limit"), errors.IllegalStateError("closed"),
        errors.RequestTimedOutError(),
    ],
)  # fmt: skip
def test_a_record_that_never_left_the_buffer_failed(error: Exception) -> None:
    assert refused(error, NEVER_SENT).type == "fail"


def test_untraced_error_is_info() -> None:
    assert refused(errors.MessageSizeTooLargeError(), None).type == "info"


INDETERMINATE = [
    errors.RequestTimedOutError, errors.KafkaConnectionError, errors.Cancelled, errors.NetworkExceptionError,
    errors.CorrelationIdError, errors.KafkaProtocolError, errors.NotLeaderForPartitionError,
    errors.UnknownTopicOrPartitionError, errors.KafkaStorageError, errors.NotEnoughReplicasAfterAppendError,
    errors.UnknownError, errors.KafkaTimeoutError, errors.TransactionAbortedError, errors.StaleMetadata,
]  # fmt: skip


NOT_WRITTEN = {
    errors.NodeNotReadyError: "client",
    errors.NotEnoughReplicasError: "broker",
    errors.LeaderNotAvailableError: "broker",
    errors.ThrottlingQuotaExceededError: "broker",
}


def test_errors_before_the_append_fail_for_any_number_of_attempts() -> None:
    for kind, origin in NOT_WRITTEN.items():
        assert ended(kind("x"), *by(origin, kind.__name__, kind.__name__), origin=origin) == "fail", kind


REFUSED = [
    errors.MessageSizeTooLargeError, errors.RecordListTooLargeError, errors.InvalidRecordError,
    errors.CorruptRecordError, errors.InvalidTimestampError, errors.InvalidRequiredAcksError,
    errors.UnsupportedVersionError, errors.UnsupportedForMessageFormatError,
    errors.UnsupportedCompressionTypeError, errors.TopicAuthorizationFailedError,
    errors.ClusterAuthorizationFailedError, errors.InvalidTopicError, errors.PolicyViolationError,
    errors.OutOfOrderSequenceNumberError, errors.UnknownProducerIdError, errors.InvalidProducerEpochError,
    errors.ProducerFencedError, errors.InvalidTxnStateError, errors.InvalidProducerIdMappingError,
    errors.TransactionAbortableError,
]  # fmt: skip


def test_a_refusal_fails_only_as_the_single_attempt() -> None:
    for kind in REFUSED:
        assert ended(kind("x"), *by("client", "RequestTimedOutError")) == "info", kind
        assert ended(kind("x"), *by("broker", "NotEnoughReplicasError")) == "info", kind
        # A batch that was sent again without a trace of why.
        tried = Attempts(drained=True, retries=1, errors=by("broker", kind.__name__))
        assert refused(kind("x"), tried).type == "info", kind


ALL = sorted(
    {
        each
        for each in vars(errors).values()
        if isinstance(each, type) and issubclass(each, BaseException) and each.__module__ == errors.__name__
    },
    key=lambda each: each.__name__,
)


def test_only_listed_errors_of_a_single_attempt_are_failures() -> None:
    """Of every class of the library, also those of later versions."""
    for kind, origin in product(ALL, ("broker", "client")):
        is_listed = NOT_WRITTEN.get(kind) == origin or (kind in REFUSED and origin == "broker")
        instance = kind.__new__(kind)  # Some cannot be made without arguments.
        assert ended(instance, origin=origin) == ("fail" if is_listed else "info"), (kind, origin)


def test_the_sweep_has_the_errors_of_the_library() -> None:
    assert {*REFUSED, *INDETERMINATE, *NOT_WRITTEN} <= {*ALL}
    assert len(ALL) > 100


def test_one_indeterminate_attempt_makes_it_info() -> None:
    assert ended(errors.NotEnoughReplicasError(), *by("client", "RequestTimedOutError")) == "info"


@pytest.mark.parametrize("kind", [errors.IllegalStateError, errors.MessageSizeTooLargeError])
def test_a_batch_aborted_because_of_another_is_info(kind: Any) -> None:
    tried = Attempts(drained=True, aborted=True)
    assert refused(kind("x"), tried).type == "info"
    unsent = Attempts(drained=False, aborted=True)
    assert refused(kind("x"), unsent).type == "fail"
    # Rejected once, queued again, then aborted: the abort says nothing of where it was by then.
    queued = Attempts(drained=True, retries=1, aborted=True, errors=by("broker", "NotEnoughReplicasError"))
    assert refused(kind("x"), queued).type == "info"


def test_the_error_text_lists_the_attempts() -> None:
    tried = Attempts(
        drained=True, retries=3, errors=by("broker", *["NotEnoughReplicasError"] * 3, "RequestTimedOutError")
    )
    outcome = refused(errors.IllegalStateError(), tried)
    assert outcome.error == "NotEnoughReplicasError*3, RequestTimedOutError, IllegalStateError"
