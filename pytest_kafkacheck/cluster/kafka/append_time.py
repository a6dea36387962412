"""What time a broker says it is: the append time that it gives to a record.

A topic with ``message.timestamp.type=LogAppendTime`` has one partition, on the broker that is asked. The broker's
answer to a write contains the time of day at which it appended the record, by its own clock.
"""

from __future__ import annotations

import secrets
import time
from collections.abc import Mapping

from kafka.errors import for_code
from tenacity import RetryError, Retrying, retry_if_exception_type, stop_after_delay, wait_fixed

from nemesis.cluster import Ahead
from pytest_kafkacheck.cluster.kafka import topics
from pytest_kafkacheck.cluster.kafka.one_record import produce_request
from pytest_kafkacheck.errors import InfrastructureError, UsageError
from workloads.clients.connection import Address, Connection

PREFIX = "kafkacheck-clock-"
"""Of the names of these topics. Each is deleted as soon as it was used."""

LIMIT = 5.0
"""Seconds for a broker to append to a topic that was just created."""

TIMEOUT = 1.5
"""Seconds for one request."""

RESOLUTION = 0.001
"""Seconds: append times are whole milliseconds, rounded down."""


def ahead(brokers: Mapping[int, Address], node: int) -> Ahead:
    """How far the clock of that broker is ahead of this host's. Raises OSError when it does not append a record."""
    topic = PREFIX + secrets.token_hex(6)
    try:
        topics.create(
            brokers, topic, assignment={0: [node]}, config={"message.timestamp.type": "LogAppendTime"}
        )
        try:
            # The broker learns of the topic a moment after the controller.
            retrying = Retrying(
                stop=stop_after_delay(LIMIT), wait=wait_fixed(0.02), retry=retry_if_exception_type(OSError)
            )
            return retrying(_append, brokers[node], topic)
        finally:
            topics.delete(brokers, topic)
    except (
        RetryError,
        InfrastructureError,
        UsageError,
    ) as error:  # Kafka refuses a replica on a fenced broker
        cause = error.last_attempt.exception() if isinstance(error, RetryError) else error
        raise OSError(f"broker {node} did not append a record: {cause}") from error


def _append(address: Address, topic: str) -> Ahead:
    request = produce_request(topic, 0, b"what time is it?", acks=1, timeout=TIMEOUT)
    with Connection(address, timeout=TIMEOUT) as connection:
        asked, moment = time.time(), time.monotonic()
        (answer,) = connection.ask(request).responses[0].partition_responses
        answered = time.time()
    if answer.error_code:
        raise OSError(f"produce to {topic}: {for_code(answer.error_code).__name__}")
    if answer.log_append_time_ms < 0:
        raise OSError(f"the answer to produce to {topic} has no append time")
    stated = answer.log_append_time_ms / 1000
    return Ahead(
        at=moment,
        least=stated - answered,
        most=stated + RESOLUTION - asked,
        source="append time of a record",
    )
