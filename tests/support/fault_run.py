"""One fault on a real cluster for as long as a test wants, and what tests observe meanwhile."""

from __future__ import annotations

import contextlib
import queue
import threading
import time
from collections.abc import Callable, Mapping
from typing import Any

from kafka import KafkaProducer
from kafka.errors import KafkaError

from nemesis.cluster import Clients
from nemesis.effects.probe import Link, probe
from nemesis.event import Event
from nemesis.run import Nemesis
from nemesis.schedule import Schedule
from nemesis.tasks import wait_until
from pytest_kafkacheck.cluster.docker.cluster import DockerCluster
from workloads.clients.kafka_python import access

LONG = 600.0
"""Duration in seconds of a fault that the test ends itself."""

LIMIT = 60.0
"""Seconds in which an effect must show, or be gone; a busy machine needs a large part of them."""


class ShortWaits(threading.Event):
    """Its waits end after 0.1 s, so that the nemesis notices soon that the test has moved the clock."""

    def wait(self, timeout: float | None = None) -> bool:
        return super().wait(min(timeout or 0.1, 0.1))


class Injection:
    """A context manager: the fault is at work inside of it. Afterwards it is healed, and its rows are in `rows`."""

    def __init__(
        self, cluster: DockerCluster, event: Event, *, topic: str, clients: Clients | None = None
    ) -> None:
        (self.event,) = Schedule.of([event]).events
        self.rows: dict[str, Mapping[str, Any]] = {}
        self._stages: queue.Queue[str] = queue.Queue()
        self._later = 0.0
        self._nemesis = Nemesis(
            Schedule.of([event]),
            cluster,
            topic=topic,
            seed=1,
            record=self._record,
            clients=clients,
            clock=lambda: time.monotonic() + self._later,
        )
        self._thread = threading.Thread(target=self._nemesis.run, args=(ShortWaits(),))

    def _record(self, row: Mapping[str, Any]) -> None:
        self.rows[row["value"]["stage"] if row["f"] != "heal-all" else "heal-all"] = row
        self._stages.put(row["value"]["stage"])

    def __enter__(self) -> Injection:
        self._thread.start()
        assert self._stages.get(timeout=120) == "inject"
        if not self.injected["effective"]:
            self.finish()
        assert self.injected["effective"], str(self.rows["inject"])
        return self

    def __exit__(self, kind: object, *_: object) -> None:
        self.finish()
        if kind is None:
            assert self.rows["heal"]["value"]["effective"], str(self.rows["heal"])
            assert "heal-all" not in self.rows, str(self.rows["heal-all"])

    def finish(self) -> None:
        if not self.event.fault.momentary:
            self._later = LONG  # the heal is due now
        self._thread.join(timeout=180)
        assert not self._thread.is_alive()

    @property
    def injected(self) -> Mapping[str, Any]:
        value: Mapping[str, Any] = self.rows["inject"]["value"]
        return value

    @property
    def nodes(self) -> list[int]:
        return list(self.injected["nodes"])


def unproved(injection: Injection) -> Mapping[str, Any]:
    """The evidence of an injection that is carried out and must not be proved. It is healed afterwards."""
    try:
        injection.__enter__()
    except AssertionError:
        evidence: Mapping[str, Any] = injection.injected["evidence"]
        return evidence
    injection.finish()
    raise AssertionError(f"proved, although nothing happened: {injection.rows['inject']}")


def eventually(condition: Callable[[], bool]) -> bool:
    return wait_until(condition, limit=LIMIT)


def produce(
    cluster: DockerCluster,
    topic: str,
    *,
    count: int = 50,
    size: int = 100,
    acks: Any = "all",
    limit: float = LIMIT,
) -> int:
    """How many of `count` records were acknowledged. limit: seconds after which the others count as lost."""
    milliseconds = round(limit * 1000)
    producer = KafkaProducer(
        **access(cluster.brokers.values()),
        acks=acks,
        retries=0,
        request_timeout_ms=milliseconds - 1000,
        delivery_timeout_ms=milliseconds,
        max_block_ms=milliseconds,
        enable_idempotence=False,
        max_request_size=2_000_000,
    )
    acknowledged = 0
    try:
        for sent in [producer.send(topic, bytes(size), partition=0) for _ in range(count)]:
            with contextlib.suppress(KafkaError):
                sent.get(timeout=limit + 1)
                acknowledged += 1
    except KafkaError:
        pass
    finally:
        with contextlib.suppress(KafkaError):
            producer.close(timeout=1)
    return acknowledged


def connects(cluster: DockerCluster, source: int, destination: int) -> bool:
    """Whether a node reaches another one on both planes."""
    return all(answer.reached for answer in probe(cluster.nodes, links(cluster, source, destination)))


def links(cluster: DockerCluster, source: int, destination: int) -> list[Link]:
    address = cluster.nodes[destination].addresses[0]
    return [Link(source, destination, address, port) for port in (9092, 9093)]
