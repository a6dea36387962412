"""confluent-kafka: librdkafka, with Python's bindings. An extra of this package."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from importlib.metadata import version
from typing import Any

from confluent_kafka import KafkaError, KafkaException

from workloads.clients.confluent.consumer import ConfluentConsumer
from workloads.clients.confluent.producer import ConfluentProducer, check_setting
from workloads.clients.connection import Address
from workloads.clients.outcome import Acks
from workloads.clients.protocol import Consumer, Log, Producer


class ConfluentKafka:
    """A `workloads.clients.library.Library`."""

    def producer(
        self,
        *,
        bootstrap: Iterable[Address],
        topics: tuple[str, ...],
        acks: Acks,
        idempotence: bool,
        settings: Mapping[str, Any],
    ) -> Producer:
        try:
            return ConfluentProducer(
                bootstrap=bootstrap, topics=topics, acks=acks, idempotence=idempotence, config=settings
            )
        except KafkaException as error:
            if error.args[0].code() in (KafkaError._INVALID_ARG, KafkaError._CONFLICT):
                raise ValueError(f"settings of librdkafka's producer: {error.args[0].str()}") from error
            raise ConnectionError(f"librdkafka's producer could not connect: {error.args[0]}") from error

    def consumer(
        self,
        *,
        bootstrap: Iterable[Address],
        start: Mapping[Log, int],
        assignment: int = 0,
        committed: bool = False,
    ) -> Consumer:
        return ConfluentConsumer(bootstrap=bootstrap, start=start, assignment=assignment, committed=committed)

    def check_producer_setting(self, name: str) -> None:
        check_setting(name)

    def version(self) -> str:
        return version("confluent-kafka")


LIBRARY = ConfluentKafka()
