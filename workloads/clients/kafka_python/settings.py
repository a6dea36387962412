"""Settings with which kafka-python's clients are made."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from workloads.clients.connection import Address
from workloads.clients.patches import connecting, gating

COMMON: dict[str, Any] = {
    # Short, because clients must learn of a new leader while the test lasts; the defaults are minutes.
    "metadata_max_age_ms": 1000,
    "request_timeout_ms": 3000,
    "reconnect_backoff_max_ms": 1000,
    # The bootstrap may spend all of this on one server that hangs, so it is short enough to try again with another.
    "bootstrap_timeout_ms": 2500,
    "metrics_enabled": False,
    "allow_auto_create_topics": False,
}


def access(bootstrap: Iterable[Address]) -> dict[str, Any]:
    """Settings with which KafkaProducer, KafkaConsumer and KafkaAdminClient reach these brokers.

    kafka-python connects to all brokers in the same way: raises ValueError when the addresses differ in security.
    Patches the library in this process.
    """
    addresses = tuple(bootstrap)
    securities = {address.security for address in addresses}
    if len(securities) > 1:
        raise ValueError(f"brokers {', '.join(map(str, addresses))}: expected the same security for all")
    (security,) = securities or {None}
    # Everything that makes a client of the library calls this function first.
    connecting.install()
    gating.install()
    return {
        "bootstrap_servers": [str(address) for address in addresses],
        **(security.kafka_python() if security is not None else {}),
    }
