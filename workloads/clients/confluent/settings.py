"""What all clients of confluent-kafka share: the settings with which they are made, and a limit for calls."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Iterable
from concurrent.futures import Future
from typing import Any, TypeVar

from workloads.clients.connection import Address, common_security

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
    security = common_security(addresses)
    return {
        "bootstrap.servers": ",".join(map(str, addresses)),
        # librdkafka writes to standard error otherwise, without a limit. Below "kafka", worker processes limit it.
        "logger": logging.getLogger("kafka.librdkafka"),
        **(security.librdkafka() if security is not None else {}),
    }


T = TypeVar("T")


def call_within(limit: float, function: Callable[[], T]) -> T:
    """What the function returns or raises. After `limit` seconds it raises TimeoutError, and the call goes on in its
    thread, which does not keep the process alive."""
    answer: Future[T] = Future()

    def run() -> None:
        try:
            answer.set_result(function())
        except BaseException as error:
            answer.set_exception(error)

    threading.Thread(target=run, daemon=True).start()
    return answer.result(limit)
