"""The outcome of a send, as Jepsen's ok, fail or info, from all its attempts.

``fail`` says that the record will never be read; a wrong one raises false alarms of phantom reads. ``info`` promises
nothing. So an outcome that is not known to be a failure is ``info``.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple

Acks = Literal["all", 0, 1]
Type = Literal["ok", "fail", "info"]

NOT_WRITTEN = {
    "NodeNotReadyError": "client",
    "NotEnoughReplicasError": "broker",
    "LeaderNotAvailableError": "broker",
    "ThrottlingQuotaExceededError": "broker",
}
"""Errors that mean that the record was not written, by their origin: a broker returns them before it appends, or the
client raises them before it sends.

NotLeaderForPartition, UnknownTopicOrPartition, KafkaStorageError and NotEnoughReplicasAfterAppend are not among them:
a broker may return them after its local append.
"""

REFUSED = frozenset(
    {
        "MessageSizeTooLargeError", "RecordListTooLargeError", "InvalidRecordError", "CorruptRecordError",
        "InvalidTimestampError", "InvalidRequiredAcksError", "InvalidTopicError", "PolicyViolationError",
        "UnsupportedVersionError", "UnsupportedForMessageFormatError", "UnsupportedCompressionTypeError",
        "TopicAuthorizationFailedError", "ClusterAuthorizationFailedError",
        "OutOfOrderSequenceNumberError", "UnknownProducerIdError", "InvalidProducerEpochError",
        "ProducerFencedError", "InvalidTxnStateError", "InvalidProducerIdMappingError",
        "TransactionAbortableError",
    }
)  # fmt: skip
"""Broker errors that refuse a batch. They are definite for a single attempt: an earlier one may have succeeded."""


class Attempt(NamedTuple):
    """How one attempt ended: the error's class, and its origin."""

    error: str
    origin: Literal["broker", "client"]


@dataclass(frozen=True, kw_only=True)
class Attempts:
    """The whole history of a batch.

    drained  whether it was ever taken out of the client's buffer, and so possibly written to a socket.
    retries  how often it was put back to be sent again.
    aborted  whether the client ended it because of another batch, so that its error does not describe this one.
    errors   of each attempt, in order.
    """

    drained: bool
    retries: int = 0
    aborted: bool = False
    errors: Sequence[Attempt] = ()


NEVER_SENT = Attempts(drained=False)


class Outcome(NamedTuple):
    type: Type
    offset: int | None
    error: str | None


def acknowledged(acks: Acks, offset: int | None) -> Outcome:
    """The outcome of a send that a broker acknowledged. offset: -1 or None where it gave none."""
    if acks == 0:
        return Outcome("info", None, None)
    return Outcome("ok", offset if offset is not None and offset >= 0 else None, None)


def refused(error: BaseException, attempts: Attempts | None) -> Outcome:
    """The outcome of a send that ended with an error. attempts: None when they were not recorded."""
    text = _text(error, attempts)
    if attempts is None:
        return Outcome("info", None, text)
    return Outcome("fail" if _never_written(attempts, error) else "info", None, text)


def _never_written(attempts: Attempts, error: BaseException) -> bool:
    if not attempts.drained:
        return True
    if attempts.aborted or not attempts.errors:
        return False
    if all(NOT_WRITTEN.get(each.error) == each.origin for each in attempts.errors):
        return True
    only = attempts.errors[0]
    return (
        len(attempts.errors) == 1
        and attempts.retries == 0
        and only == Attempt(type(error).__name__, "broker")
        and only.error in REFUSED
    )


def _text(error: BaseException, attempts: Attempts | None) -> str:
    """Error classes in the order they came, such as ``NotEnoughReplicasError*3, KafkaTimeoutError``."""
    names = [each.error for each in attempts.errors] if attempts else []
    if not names or names[-1] != type(error).__name__:
        names.append(type(error).__name__)
    runs: list[tuple[str, int]] = []
    for name in names:
        if runs and runs[-1][0] == name:
            runs[-1] = (name, runs[-1][1] + 1)
        else:
            runs.append((name, 1))
    return ", ".join(name if count == 1 else f"{name}*{count}" for name, count in runs)
