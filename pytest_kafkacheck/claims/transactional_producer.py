"""A transactional producer that decides itself when each of its requests arrives."""

from __future__ import annotations

from kafka.protocol.producer import (
    AddPartitionsToTxnRequest,
    EndTxnRequest,
    InitProducerIdRequest,
    ProduceRequest,
)

from pytest_kafkacheck.claims.clusters import TRANSACTION_VERSION
from pytest_kafkacheck.claims.context import ScenarioContext
from pytest_kafkacheck.claims.produce import error_code
from pytest_kafkacheck.cluster.kafka.one_record import Sender, produce_request
from workloads.clients import coordination


class TransactionalProducer:
    """A transactional producer that sends each request once, with the newest protocol that the cluster has."""

    def __init__(self, context: ScenarioContext, topic: str, *, partitions: int = 1) -> None:
        spec = context.cluster.spec
        self.bumps_epochs = (
            spec.kraft and spec.release.number >= (4,) and spec.features.get(TRANSACTION_VERSION, 2) == 2
        )
        self.ask_leaders = [
            context.ask(context.view(topic, partition).leader) for partition in range(partitions)
        ]
        self.topic = self.id = topic

        def is_known() -> bool:
            self.coordinator = context.cluster.coordinator("transaction", topic) or 0
            self.ask_coordinator = context.ask(self.coordinator)
            request = InitProducerIdRequest(version=1, transactional_id=topic, transaction_timeout_ms=60_000)
            answer = self.ask_coordinator(request)
            self.producer, self.epoch = answer.producer_id, answer.producer_epoch
            return bool(answer.error_code == 0)

        context.require(is_known, 15, "a producer id")
        self.sequences: dict[int, int] = {}

    def send(self, value: str, partition: int = 0) -> int:
        """The error code."""
        code = error_code(self.ask_leaders[partition](self.write(value, partition)))
        self.sequences[partition] = self.sequences.get(partition, 0) + (code == 0)
        return code

    def write(self, value: str, partition: int = 0) -> ProduceRequest:
        """The request, which `send` sends."""
        return produce_request(
            self.topic,
            partition,
            value.encode(),
            timeout=1,
            version=12 if self.bumps_epochs else 7,
            sender=Sender(self.producer, self.epoch, self.sequences.get(partition, 0)),
            transactional_id=self.id,
            timestamp=0,
        )

    def add_partition(self, partition: int = 0) -> int:
        """The error code. With transaction version 2 the first write of a transaction does it."""
        if self.bumps_epochs:
            return 0
        Topic = AddPartitionsToTxnRequest.AddPartitionsToTxnTopic
        request = AddPartitionsToTxnRequest(
            version=1,
            v3_and_below_transactional_id=self.id,
            v3_and_below_producer_id=self.producer,
            v3_and_below_producer_epoch=self.epoch,
            v3_and_below_topics=[Topic(name=self.topic, partitions=[partition])],
        )
        (added,) = self.ask_coordinator(request).results_by_topic_v3_and_below
        return int(added.results_by_partition[0].partition_error_code)

    def end(self, *, commit: bool) -> EndTxnRequest:
        """The request, which `ended` sends."""
        return EndTxnRequest(
            version=5 if self.bumps_epochs else 1,
            transactional_id=self.id,
            producer_id=self.producer,
            producer_epoch=self.epoch,
            committed=commit,
        )

    def ended(self, request: EndTxnRequest) -> int:
        """The error code."""
        answer = self.ask_coordinator(request)
        if self.bumps_epochs and not answer.error_code:
            self.producer, self.epoch, self.sequences = answer.producer_id, answer.producer_epoch, {}
        return int(answer.error_code)

    def state(self) -> str:
        """Of its transaction, as the coordinator names it, such as Ongoing."""
        return str(coordination.state(self.ask_coordinator, "transaction", self.id))
