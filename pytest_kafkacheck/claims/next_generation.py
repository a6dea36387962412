"""Members of a group with the next-generation protocol (KIP-848). kafka-python does not have it; confluent-kafka,
which is an extra, does."""

from __future__ import annotations

import importlib.util
import time
from collections.abc import Iterable
from typing import Any

from pytest_kafkacheck.claims.members import POLL_MS, Member
from workloads.clients.confluent.settings import COMMON, access
from workloads.clients.connection import Address


def is_installed() -> bool:
    return importlib.util.find_spec("confluent_kafka") is not None


class NextGenerationMember(Member):
    """As `Member`. The coordinator decides who gets which partition, and when."""

    def __init__(self, brokers: Iterable[Address], group: str, topic: str) -> None:
        from confluent_kafka import Consumer

        settings = {
            **COMMON,
            **access(brokers),
            "group.id": group,
            "group.protocol": "consumer",
            "auto.offset.reset": "earliest",
            "enable.auto.commit": False,
        }
        super().__init__(Consumer(settings), [topic])

    def _poll(self) -> None:
        def assigned(_: Any, partitions: Any) -> None:
            self.note("assigned", partitions)

        def revoked(_: Any, partitions: Any) -> None:
            self.note("revoked", partitions)

        self._consumer.subscribe(self._topics, on_assign=assigned, on_revoke=revoked, on_lost=revoked)
        try:
            while not self._stop.is_set():
                for message in self._consumer.consume(num_messages=500, timeout=POLL_MS / 1000):
                    if not message.error():
                        self.consumed.append((time.monotonic(), message.partition(), message.offset()))
        finally:
            self._consumer.close()
