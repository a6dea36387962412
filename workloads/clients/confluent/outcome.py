"""The outcome of a send with confluent-kafka, as Jepsen's ok, fail or info.

librdkafka knows whether a message was possibly written (``rd_kafka_message_status``), and retries some errors without
counting them, even with ``retries=0``. Its Python binding tells neither. So the error of a delivery report describes
the last attempt only: an earlier one may have been written, and no report proves a failure. An error that produce()
raises does, because the message never entered the queue.
"""

from __future__ import annotations

from collections.abc import Mapping

from confluent_kafka import KafkaError, KafkaException

from workloads.clients.outcome import Acks, Outcome, acknowledged

NOT_QUEUED: Mapping[int, str] = {
    KafkaError._QUEUE_FULL: "the queue has its maximal number of messages or bytes",
    KafkaError.MSG_SIZE_TOO_LARGE: "larger than message.max.bytes of the client",
    KafkaError._UNKNOWN_PARTITION: "the metadata has the topic and not the partition",
    KafkaError._UNKNOWN_TOPIC: "the metadata does not have the topic",
    KafkaError._FATAL: "a fatal error came before: the producer sends nothing more",
    KafkaError._STATE: "a transactional producer is not in a transaction",
    KafkaError._INVALID_ARG: "an argument has no valid value",
}
"""Codes with which produce() refuses a message, and when."""


def of_refusal(error: BaseException) -> Outcome:
    """Of a message for which produce() raised this error. Unlisted errors promise nothing."""
    if isinstance(error, BufferError):
        return Outcome("fail", None, "_QUEUE_FULL")
    if isinstance(error, KafkaException):
        code, name = _code(error)
        return Outcome("fail" if code in NOT_QUEUED else "info", None, name)
    # Type and value errors of arguments come before librdkafka is called.
    known = isinstance(error, (TypeError, ValueError))
    return Outcome("fail" if known else "info", None, type(error).__name__)


def of_report(*, acks: Acks, offset: int | None, error: KafkaError | None) -> Outcome:
    """Of a message with a delivery report. offset: None or negative where the broker gave none."""
    if error is not None:
        return Outcome("info", None, error.name())
    return acknowledged(acks, offset)


def _code(error: KafkaException) -> tuple[int, str]:
    (cause, *_) = error.args
    return cause.code(), cause.name()
