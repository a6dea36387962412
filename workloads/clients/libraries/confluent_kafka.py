"""confluent-kafka: librdkafka, with Python's bindings. An extra of this package."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from importlib.metadata import version
from typing import Any

from confluent_kafka import KafkaError, KafkaException

from workloads.clients.confluent.consumer import ConfluentConsumer
from workloads.clients.confluent.member import ConfluentMember, configuration
from workloads.clients.confluent.producer import ConfluentProducer, check_setting
from workloads.clients.confluent.transactions import ConfluentTransactionalProducer
from workloads.clients.connection import Address
from workloads.clients.outcome import Acks
from workloads.clients.protocol import Consumer, Log, Member, Producer, ShareConsumer, TransactionalProducer


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
            raise _translated(error) from error

    def consumer(
        self,
        *,
        bootstrap: Iterable[Address],
        start: Mapping[Log, int],
        assignment: int = 0,
        committed: bool = False,
        rack: str | None = None,
    ) -> Consumer:
        return ConfluentConsumer(
            bootstrap=bootstrap, start=start, assignment=assignment, committed=committed, rack=rack
        )

    def check_reported_ends(self) -> None:
        raise ValueError(
            "confluent-kafka does not expose the end of a log that a follower reported; use library='kafka-python'"
        )

    def transactional(
        self,
        *,
        bootstrap: Iterable[Address],
        topics: tuple[str, ...],
        transactional_id: str,
        timeout: float,
        settings: Mapping[str, Any],
    ) -> TransactionalProducer:
        try:
            return ConfluentTransactionalProducer(
                bootstrap=bootstrap,
                topics=topics,
                transactional_id=transactional_id,
                timeout=timeout,
                settings=settings,
            )
        except KafkaException as error:
            raise _translated(error) from error

    def member(
        self,
        *,
        bootstrap: Iterable[Address],
        topics: tuple[str, ...],
        group: str,
        settings: Mapping[str, Any],
    ) -> Member:
        return ConfluentMember(bootstrap=bootstrap, topics=topics, group=group, settings=settings)

    def check_member(self, settings: Mapping[str, Any]) -> None:
        configuration("", settings)

    def share(self, **_: Any) -> ShareConsumer:
        raise ValueError("confluent-kafka has no share groups here; use library='java'")

    def check_producer_setting(self, name: str) -> None:
        check_setting(name)

    def version(self) -> str:
        return version("confluent-kafka")


def _translated(error: KafkaException) -> Exception:
    """Of making a producer."""
    cause = error.args[0]
    if cause.code() in (KafkaError._INVALID_ARG, KafkaError._CONFLICT):
        return ValueError(f"settings of librdkafka's producer: {cause.str()}")
    return ConnectionError(f"librdkafka's producer could not connect: {cause}")


LIBRARY = ConfluentKafka()
