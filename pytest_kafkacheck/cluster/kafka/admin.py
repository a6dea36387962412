"""The library's admin client, connected to a cluster for one block."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from kafka import KafkaAdminClient

from workloads.clients.connection import Address
from workloads.clients.kafka_python import access

REQUEST_LIMIT = 20.0
"""Seconds for one request."""


@contextmanager
def admin_client(brokers: Mapping[int, Address], *, request_limit: float = REQUEST_LIMIT) -> Iterator[Any]:
    """kafka-python's admin client, closed when the block ends."""
    client = KafkaAdminClient(**access(brokers.values()), request_timeout_ms=round(request_limit * 1000))
    try:
        yield client
    finally:
        client.close()
