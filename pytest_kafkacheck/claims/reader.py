"""A consumer that reads a partition in a thread, and remembers when each record came."""

from __future__ import annotations

import threading
import time
from contextlib import suppress
from typing import Any

from kafka.errors import KafkaError

from pytest_kafkacheck.claims.writer import longest_pause

POLL_MS = 50


class Reader:
    """times: seconds of the monotonic clock, of each record. consumer: has its partition, and nobody else uses it."""

    def __init__(self, consumer: Any) -> None:
        self.times: list[float] = []
        self._consumer = consumer
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._read, name="kafkacheck-reader", daemon=True)

    def start(self) -> None:
        self._thread.start()

    def stop(self) -> None:
        self._stop.set()
        self._thread.join()

    def longest_gap(self, since: float = float("-inf"), until: float = float("inf")) -> float:
        """The longest time in s without a record, of the gaps that overlap this time; 0 without records."""
        return longest_pause(self.times, since, until)

    def count(self, since: float, until: float) -> int:
        """Records that were read within this time."""
        return sum(since <= each <= until for each in self.times)

    def _read(self) -> None:
        while not self._stop.is_set():
            with suppress(KafkaError):
                for records in self._consumer.poll(timeout_ms=POLL_MS).values():
                    self.times.extend([time.monotonic()] * len(records))
