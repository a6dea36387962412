"""A message of confluent-kafka as our protocol has it."""

from __future__ import annotations

from confluent_kafka import Message

from workloads.clients.protocol import Log, Polled
from workloads.keys import from_wire


def to_polled(log: Log, offset: int, message: Message) -> Polled:
    epoch, key = message.leader_epoch(), message.key()
    # Headers are decoded at each request; only tombstones need them.
    headers = message.headers() if key is not None and message.value() is None else None
    pairs = headers.items() if isinstance(headers, dict) else headers
    payload, keyed = from_wire(key, message.value(), pairs)
    return Polled(log, offset, -1 if epoch is None else epoch, payload, None, keyed, message.timestamp()[1])
