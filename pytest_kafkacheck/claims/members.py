"""Members of a consumer group, each in a thread, or in a process that can be killed."""

from __future__ import annotations

import json
import subprocess
import sys
import threading
import time
from collections.abc import Iterable, Mapping
from typing import Any, Literal, NamedTuple, Self

from kafka import ConsumerRebalanceListener

from workloads.clients.kafka_python import go_on_joining

SESSION, HEARTBEAT = 3.0, 0.5
"""Seconds."""

POLL_MS = 100


class Event(NamedTuple):
    """at: seconds of the monotonic clock."""

    kind: Literal["assigned", "revoked"]
    partitions: frozenset[int]
    at: float


class Member:
    """Polls in a thread, and commits nothing. Leaving the context leaves the group.

    events    what it was assigned and what was revoked, in order.
    consumed  the time of each record, with its partition and offset.
    """

    def __init__(self, consumer: Any, topics: Iterable[str]) -> None:
        self.events: list[Event] = []
        self.consumed: list[tuple[float, int, int]] = []
        self._consumer, self._topics = consumer, list(topics)
        self._resubscribe: list[str] | None = None
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._poll, name="kafkacheck-member", daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.leave()

    @property
    def partitions(self) -> frozenset[int]:
        """Those that it has now."""
        found: frozenset[int] = frozenset()
        for event in list(self.events):
            found = found | event.partitions if event.kind == "assigned" else found - event.partitions
        return found

    @property
    def generation(self) -> int:
        metadata = self._consumer.group_metadata()
        return -1 if metadata is None else int(metadata.generation_id)

    @property
    def identity(self) -> str:
        """The member id that the coordinator gave it."""
        return str(self._consumer.group_metadata().member_id)

    def subscribe(self, topics: Iterable[str]) -> None:
        """At its next poll."""
        self._resubscribe = list(topics)

    def leave(self) -> None:
        self._stop.set()
        self._thread.join()

    def _poll(self) -> None:
        member = self

        class Listener(ConsumerRebalanceListener):  # type: ignore[misc]
            def on_partitions_assigned(self, assigned: Any) -> None:
                member.note("assigned", assigned)

            def on_partitions_revoked(self, revoked: Any) -> None:
                member.note("revoked", revoked)

        listener = Listener()
        self._consumer.subscribe(self._topics, listener=listener)
        try:
            while not self._stop.is_set():
                if self._resubscribe is not None:
                    self._consumer.subscribe(self._resubscribe, listener=listener)
                    self._resubscribe = None
                go_on_joining(self._consumer)
                for records in self._consumer.poll(timeout_ms=POLL_MS).values():
                    now = time.monotonic()
                    self.consumed.extend((now, record.partition, record.offset) for record in records)
        finally:
            self._consumer.close(autocommit=False)

    def note(self, kind: Literal["assigned", "revoked"], partitions: Iterable[Any]) -> None:
        self.events.append(Event(kind, frozenset(each.partition for each in partitions), time.monotonic()))


PROGRAM = """
import json, signal, sys
from kafka import KafkaConsumer
from workloads.clients.kafka_python import access, go_on_joining
signal.signal(signal.SIGTERM, lambda *_: sys.exit())
access(())
consumer = KafkaConsumer(**json.loads(sys.argv[1]))
consumer.subscribe([sys.argv[2]])
try:
    while True:
        go_on_joining(consumer)
        consumer.poll(timeout_ms=100)
finally:
    consumer.close(autocommit=False)
"""


def start_process(settings: Mapping[str, Any], topic: str) -> subprocess.Popen[bytes]:
    """A member in a process of its own: SIGTERM makes it leave the group, SIGKILL lets it crash."""
    return subprocess.Popen(
        [sys.executable, "-W", "ignore", "-c", PROGRAM, json.dumps(dict(settings)), topic],
        stdin=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
