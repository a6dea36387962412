"""The outcome of a send, as Jepsen's ok, fail or info, from what a client says about it.

A client gives Kafka's name of the error, and where it knows them, whether the record was sent at all, and in how many
requests. Only with these an error proves that nothing was written: that of a last attempt says nothing about the ones
before. A name that is not listed here promises nothing.
"""

from __future__ import annotations

from workloads.clients.command.messages import Refusal
from workloads.clients.outcome import Acks, Outcome, acknowledged

REFUSED = frozenset(
    {
        "NOT_ENOUGH_REPLICAS", "LEADER_NOT_AVAILABLE", "THROTTLING_QUOTA_EXCEEDED",
        "MESSAGE_TOO_LARGE", "RECORD_LIST_TOO_LARGE", "INVALID_RECORD", "CORRUPT_MESSAGE",
        "INVALID_TIMESTAMP", "INVALID_REQUIRED_ACKS", "INVALID_TOPIC_EXCEPTION", "POLICY_VIOLATION",
        "UNSUPPORTED_VERSION", "UNSUPPORTED_FOR_MESSAGE_FORMAT", "UNSUPPORTED_COMPRESSION_TYPE",
        "TOPIC_AUTHORIZATION_FAILED", "CLUSTER_AUTHORIZATION_FAILED",
        "OUT_OF_ORDER_SEQUENCE_NUMBER", "UNKNOWN_PRODUCER_ID", "INVALID_PRODUCER_EPOCH",
        "PRODUCER_FENCED", "INVALID_TXN_STATE", "INVALID_PRODUCER_ID_MAPPING", "TRANSACTION_ABORTABLE",
    }
)  # fmt: skip
"""With which a broker refuses a batch before it appends it: `workloads.clients.outcome` in Kafka's own names."""


def of_completion(*, acks: Acks, offset: int | None, error: Refusal | None) -> Outcome:
    if error is None:
        return acknowledged(acks, offset)
    never_sent = error.sent is False
    refused = error.attempts == 1 and error.name in REFUSED
    return Outcome("fail" if never_sent or refused else "info", None, error.name)
