"""Real brokers for the rules, with topics of the test, and what is stored as kafka-python reads it."""

from __future__ import annotations

import threading
from collections.abc import Mapping
from contextlib import suppress
from functools import cached_property

from tenacity import Retrying, retry_if_result, stop_after_delay, wait_fixed

from pytest_kafkacheck.client_test.bench import Stored
from pytest_kafkacheck.cluster.kafka import topics
from pytest_kafkacheck.cluster.kafka.served_cluster import broker_release
from pytest_kafkacheck.errors import InfrastructureError
from workloads.clients.connection import Address
from workloads.clients.kafka_python.outputs import OutputConsumer
from workloads.clients.leaders import Leaders

READ_LIMIT = 20.0
"""Seconds to read a partition."""

SMALL = "small"


class RealBrokers:
    """Implements `bench.Brokers`. A context manager: leaving it deletes the topics."""

    def __init__(self, brokers: Mapping[int, Address]) -> None:
        self._brokers = brokers
        self._topics: list[str] = []

    def __enter__(self) -> RealBrokers:
        return self

    def __exit__(self, *_: object) -> None:
        for topic in self._topics:
            with suppress(InfrastructureError):
                topics.delete(self._brokers, topic)

    @property
    def bootstrap(self) -> tuple[Address, ...]:
        return tuple(self._brokers.values())

    @cached_property
    def release(self) -> tuple[int, int]:
        try:
            return min(broker_release(address) for address in self.bootstrap)
        except OSError as error:
            raise InfrastructureError(f"the brokers' releases could not be read: {error!r}") from error

    def create(self, topic: str, partitions: int) -> None:
        config = {"max.message.bytes": "1000"} if SMALL in topic else {}
        copies = min(3, len(self._brokers))
        topics.create(self._brokers, topic, partitions=partitions, replication_factor=copies, config=config)
        self._topics.append(topic)

    def stored(self, topic: str, partition: int) -> list[Stored]:
        log = (topic, partition)
        leaders = Leaders(self._brokers, [topic], stop=threading.Event())
        end = leaders.offset(log, committed=True, limit=READ_LIMIT)
        reader = OutputConsumer(bootstrap=self.bootstrap, start={log: 0})
        found: list[Stored] = []

        def read() -> bool:
            found.extend(
                Stored(each.offset, each.key, each.value, list(each.headers)) for each in reader.outputs(0.2)
            )
            return reader.positions[log] < end

        try:
            Retrying(stop=stop_after_delay(READ_LIMIT), wait=wait_fixed(0), retry=retry_if_result(bool))(read)
        finally:
            reader.close()
        return found
