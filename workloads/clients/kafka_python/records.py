"""A record of kafka-python as our protocol has it."""

from __future__ import annotations

from typing import Any

from workloads.clients.protocol import Fetched, Log, Polled
from workloads.keys import from_wire


def to_polled(log: Log, record: Any, fetched: Fetched | None) -> Polled:
    """record: a ConsumerRecord."""
    if record.key is None:
        return Polled(log, record.offset, record.leader_epoch, record.value, fetched, None, record.timestamp)
    payload, keyed = from_wire(record.key, record.value, record.headers)
    return Polled(log, record.offset, record.leader_epoch, payload, fetched, keyed, record.timestamp)
