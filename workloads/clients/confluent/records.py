"""A message of confluent-kafka as our protocol has it."""

from __future__ import annotations

from confluent_kafka import Message

from workloads.clients.protocol import Log, Polled
from workloads.keys import KEY, from_wire


def to_polled(log: Log, offset: int, message: Message) -> Polled:
    epoch, key = message.leader_epoch(), message.key()
    # Headers are decoded at each request. Only tombstones and records with a body need them, whose keys are not ours.
    is_plain = key is None or (len(key) == KEY.size and message.value() is not None)
    headers = None if is_plain else message.headers()
    pairs = headers.items() if isinstance(headers, dict) else headers
    payload, keyed = from_wire(key, message.value(), pairs)
    return Polled(log, offset, -1 if epoch is None else epoch, payload, None, keyed, message.timestamp()[1])
