"""kafka-python, the default client library."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from importlib.metadata import version
from typing import Any

from kafka.errors import KafkaConfigurationError, KafkaError

from workloads.clients.connection import Address
from workloads.clients.kafka_python.consumer import KafkaPythonConsumer
from workloads.clients.kafka_python.member import KafkaPythonMember, member_settings
from workloads.clients.kafka_python.producer import KafkaPythonProducer, check_setting
from workloads.clients.kafka_python.transactional import KafkaPythonTransactional
from workloads.clients.outcome import Acks
from workloads.clients.protocol import Consumer, Log, Member, Producer, ShareConsumer, TransactionalProducer


class KafkaPython:
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
            return KafkaPythonProducer(
                bootstrap=bootstrap, topics=topics, acks=acks, idempotence=idempotence, config=settings
            )
        except KafkaConfigurationError as error:
            raise ValueError(f"settings of KafkaProducer: {error}") from error
        except KafkaError as error:
            raise ConnectionError(f"KafkaProducer could not connect: {error!r}") from error

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
            return KafkaPythonTransactional(
                bootstrap=bootstrap,
                topics=topics,
                transactional_id=transactional_id,
                timeout=timeout,
                config=settings,
            )
        except KafkaConfigurationError as error:
            raise ValueError(f"settings of KafkaProducer: {error}") from error
        except KafkaError as error:
            raise ConnectionError(f"{transactional_id} could not be claimed: {error!r}") from error

    def consumer(
        self,
        *,
        bootstrap: Iterable[Address],
        start: Mapping[Log, int],
        assignment: int = 0,
        committed: bool = False,
        rack: str | None = None,
    ) -> Consumer:
        return KafkaPythonConsumer(
            bootstrap=bootstrap, start=start, assignment=assignment, committed=committed, rack=rack
        )

    def check_reported_ends(self) -> None:
        """They do."""

    def member(
        self,
        *,
        bootstrap: Iterable[Address],
        topics: tuple[str, ...],
        group: str,
        settings: Mapping[str, Any],
    ) -> Member:
        return KafkaPythonMember(bootstrap=bootstrap, topics=topics, group=group, settings=settings)

    def check_member(self, settings: Mapping[str, Any]) -> None:
        member_settings("", settings)

    def share(self, **_: Any) -> ShareConsumer:
        raise ValueError("kafka-python has no share groups here; use library='java'")

    def check_producer_setting(self, name: str) -> None:
        check_setting(name)

    def version(self) -> str:
        return version("kafka-python")


LIBRARY = KafkaPython()
