"""Settings with which confluent-kafka's clients are made."""

from __future__ import annotations

import logging
from collections.abc import Iterable
from typing import Any

from workloads.clients.connection import Address

COMMON: dict[str, Any] = {
    # Short, because clients must learn of a new leader while the test lasts; the defaults are minutes.
    "topic.metadata.refresh.interval.ms": 1000,
    "socket.timeout.ms": 3000,
    "socket.connection.setup.timeout.ms": 3000,
    "reconnect.backoff.max.ms": 1000,
}

CONNECT_TIMEOUT = 2.5
"""Seconds for the first answer of any broker."""


def access(bootstrap: Iterable[Address]) -> dict[str, Any]:
    """Settings with which Producer, Consumer and AdminClient reach these brokers.

    librdkafka connects to all brokers in the same way: raises ValueError when the addresses differ in security.
    """
    addresses = tuple(bootstrap)
    securities = {address.security for address in addresses}
    if len(securities) > 1:
        raise ValueError(f"brokers {', '.join(map(str, addresses))}: expected the same security for all")
    (security,) = securities or {None}
    return {
        "bootstrap.servers": ",".join(map(str, addresses)),
        # librdkafka writes to standard error otherwise, without a limit. Below "kafka", worker processes limit it.
        "logger": logging.getLogger("kafka.librdkafka"),
        **(security.librdkafka() if security is not None else {}),
    }
