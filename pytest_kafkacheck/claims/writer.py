"""A producer that writes numbered values in a thread, and remembers what was acknowledged."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterable
from contextlib import suppress
from itertools import pairwise
from typing import Any, NamedTuple, Self

from kafka.errors import KafkaError

from workloads.clients.kafka_python.attempts import SendFailed

PACE = 0.01
"""Seconds between two sends."""

SEND_ERRORS = (KafkaError, SendFailed)
"""What the future of a send raises: `SendFailed` where kafka-python was patched in this process, as by A8."""

CLOSE_LIMIT = 15.0
"""Seconds for sends without an answer to end."""


class Ack(NamedTuple):
    """An acknowledged value. sent, at: seconds of the monotonic clock of the send and of its acknowledgement."""

    value: str
    partition: int
    offset: int
    sent: float
    at: float


def longest_pause(moments: Iterable[float], since: float, until: float) -> float:
    """The longest of the pauses between two of these moments that overlap this time; 0 where there is none."""
    pauses = (
        after - before for before, after in pairwise(sorted(moments)) if after >= since and before <= until
    )
    return max(pauses, default=0.0)


class Writer:
    """acks: the acknowledged values, in the order of their acknowledgement. partitions: it takes turns with them.

    failed  the times at which values were sent that the client reported as not acknowledged.
    """

    def __init__(self, producer: Any, topic: str, *, prefix: str, partitions: int = 1) -> None:
        self.acks: list[Ack] = []
        self.failed: list[float] = []
        self._producer, self._topic, self._prefix = producer, topic, prefix
        self._partitions = partitions
        self._stop = threading.Event()
        self._open: list[Any] = []
        self._thread = threading.Thread(target=self._write, name="kafkacheck-writer", daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stop.set()
        self._thread.join()

    def stop(self) -> list[Ack]:
        """End it, wait for the answers of what was sent, and return the acknowledged values."""
        self._stop.set()
        self._thread.join()
        deadline = time.monotonic() + CLOSE_LIMIT
        for future in self._open:
            with suppress(*SEND_ERRORS, TimeoutError):
                future.get(timeout=max(0.0, deadline - time.monotonic()))
        return list(self.acks)

    def longest_gap(self, since: float = float("-inf"), until: float = float("inf")) -> float:
        """The longest time in s without an acknowledgement, of the gaps that overlap this time; 0 without acks."""
        return longest_pause((ack.at for ack in self.acks), since, until)

    def count(self, since: float, until: float) -> int:
        """Values sent and acknowledged within this time."""
        return sum(ack.sent >= since and ack.at <= until for ack in self.acks)

    def _write(self) -> None:
        number = 0
        while not self._stop.wait(PACE):
            value, sent = f"{self._prefix}{number}", time.monotonic()
            partition = number % self._partitions
            number += 1
            with suppress(KafkaError):
                future = self._producer.send(self._topic, value.encode(), partition=partition)
                self._open.append(future)
                future.add_callback(self._acknowledged, value, sent)
                future.add_errback(self._failed, sent)

    def _acknowledged(self, value: str, sent: float, metadata: Any) -> None:
        self.acks.append(Ack(value, metadata.partition, metadata.offset, sent, time.monotonic()))

    def _failed(self, sent: float, _: Exception) -> None:
        self.failed.append(sent)
