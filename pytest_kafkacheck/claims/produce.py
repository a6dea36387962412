"""One produce request to one broker, whether it leads the partition or not."""

from __future__ import annotations

from typing import Any

from kafka.protocol.producer import ProduceRequest

from pytest_kafkacheck.cluster.kafka.one_record import NOBODY, Sender, produce_request
from workloads.clients.connection import Address, ask

NOT_LEADER, TIMED_OUT, NOT_ENOUGH_REPLICAS, OUT_OF_ORDER = 6, 7, 19, 45
"""Error codes."""

GZIP = 1

MARGIN = 5.0
"""Seconds beyond the broker's own limit."""


def append(address: Address, topic: str, value: str, *, acks: int, limit: float) -> int:
    """The error code of the answer. Raises OSError without one."""
    return error_code(ask(address, request(topic, value, acks=acks, limit=limit), timeout=limit + MARGIN))


def error_code(answer: Any) -> int:
    """Of the answer to a request for one partition."""
    return int(answer.responses[0].partition_responses[0].error_code)


def request(
    topic: str, value: str, *, acks: int, limit: float, compression: int = 0, sender: Sender = NOBODY
) -> ProduceRequest:
    """One record for partition 0.

    limit        seconds for which the broker may wait for replicas.
    compression  0 for none, `GZIP`.
    """
    return produce_request(
        topic, 0, value.encode(), acks=acks, timeout=limit, sender=sender, compression=compression
    )
