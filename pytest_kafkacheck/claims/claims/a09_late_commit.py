"""A client commits a transaction, gets no answer, and commits again. The first request arrives when the next
transaction is open, which the client then aborts. The program sends the requests in the order in which a network that
delays the first one would deliver them.

Exercised: the second transaction was open when the late commit arrived.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from kafka.protocol.producer import (
    AddPartitionsToTxnRequest,
    EndTxnRequest,
    InitProducerIdRequest,
    ProduceRequest,
)
from kafka.record.memory_records import MemoryRecordsBuilder

from pytest_kafkacheck.claims.claim import Answer, Case, Claim
from pytest_kafkacheck.claims.clusters import KRAFT, NEWEST, ZOOKEEPER
from pytest_kafkacheck.claims.context import ScenarioContext
from pytest_kafkacheck.claims.exercising import exercised
from pytest_kafkacheck.cluster.spec.spec import ClusterSpec
from workloads.clients import coordination

FEATURE = "transaction.version"


class Producer:
    """A transactional producer that sends each request once, with the newest protocol that the cluster has."""

    def __init__(self, context: ScenarioContext, topic: str) -> None:
        spec = context.cluster.spec
        self.bumps_epochs = spec.kraft and spec.release.number >= (4,) and spec.features.get(FEATURE, 2) == 2
        self.ask_leader = context.ask(context.view(topic).leader)
        self.topic = self.id = topic
        coordinators: list[int] = []

        def is_known() -> bool:
            coordinators.append(context.cluster.coordinator("transaction", topic) or 0)
            self.ask_coordinator = context.ask(coordinators[-1])
            request = InitProducerIdRequest(version=1, transactional_id=topic, transaction_timeout_ms=60_000)
            answer = self.ask_coordinator(request)
            self.producer, self.epoch = answer.producer_id, answer.producer_epoch
            return bool(answer.error_code == 0)

        context.require(is_known, 15, "a producer id")
        self.sequence = 0

    def send(self, value: str) -> int:
        """The error code."""
        batch = MemoryRecordsBuilder(
            magic=2,
            compression_type=0,
            batch_size=1 << 14,
            transactional=True,
            producer_id=self.producer,
            producer_epoch=self.epoch,
            base_sequence=self.sequence,
        )
        batch.append(timestamp=0, key=None, value=value.encode())
        batch.close()
        Topic = ProduceRequest.TopicProduceData
        request = ProduceRequest(
            version=12 if self.bumps_epochs else 7,
            transactional_id=self.id,
            acks=-1,
            timeout_ms=1000,
            topic_data=[
                Topic(
                    name=self.topic,
                    partition_data=[Topic.PartitionProduceData(index=0, records=batch.buffer())],
                )
            ],
        )
        code = int(self.ask_leader(request).responses[0].partition_responses[0].error_code)
        self.sequence += code == 0
        return code

    def add_partition(self) -> int:
        """The error code. With transaction version 2 the first write of a transaction does it."""
        if self.bumps_epochs:
            return 0
        Topic = AddPartitionsToTxnRequest.AddPartitionsToTxnTopic
        request = AddPartitionsToTxnRequest(
            version=1,
            v3_and_below_transactional_id=self.id,
            v3_and_below_producer_id=self.producer,
            v3_and_below_producer_epoch=self.epoch,
            v3_and_below_topics=[Topic(name=self.topic, partitions=[0])],
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
            self.producer, self.epoch, self.sequence = answer.producer_id, answer.producer_epoch, 0
        return int(answer.error_code)


def show(context: ScenarioContext) -> Answer:
    topic = context.topic()
    producer = Producer(context, topic)

    def succeeds(what: str, request: Callable[[], int]) -> None:
        context.require(lambda: request() == 0, 10, what)

    succeeds("a partition in the first transaction", producer.add_partition)
    succeeds("a write in the first transaction", lambda: producer.send("first"))
    late = producer.end(commit=True)
    repeated = producer.end(commit=True)
    succeeds("the commit of the first transaction", lambda: producer.ended(repeated))
    succeeds("a partition in the second transaction", producer.add_partition)
    succeeds("a write in the second transaction", lambda: producer.send("aborted"))
    state = coordination.state(producer.ask_coordinator, "transaction", topic)
    exercised(state == "Ongoing", f"the second transaction is {state}")
    answer = int(producer.ask_coordinator(late).error_code)
    aborted = producer.ended(producer.end(commit=False))
    context.require(
        lambda: str(coordination.state(producer.ask_coordinator, "transaction", topic)).startswith(
            "Complete"
        ),
        10,
        "the second transaction has ended",
    )
    visible = [*context.read(topic, isolation_level="read_committed").values()]
    return Answer(
        holds=visible == ["first"],
        seen=f"the late commit was answered with error {answer}, the abort with error {aborted}; committed "
        f"readers get {', '.join(visible)}",
        figures={"error of the late commit": answer, "aborted records that are read": len(visible) - 1},
    )


def _cases(cluster: ClusterSpec) -> tuple[Case, Case]:
    return (
        Case(name=cluster.version, cluster=cluster),
        Case(
            name=f"{cluster.version} {FEATURE}=1",
            cluster=replace(cluster, features={FEATURE: 1}),
            expected="refuted",
            why="before transaction version 2 all transactions of a producer have the same epoch (KAFKA-17754), also "
            "on 4.x with clients that do not speak version 2",
        ),
    )


CLAIM = Claim(
    id="A9",
    title="a late commit",
    text="A commit that arrives late, after the client has repeated it, does not decide the next transaction.",
    source="https://issues.apache.org/jira/browse/KAFKA-17754",
    cases=(
        *_cases(KRAFT),
        *_cases(NEWEST),
        Case(
            name="3.9.2 ZooKeeper",
            cluster=ZOOKEEPER,
            expected="refuted",
            why="all transactions of a producer have the same epoch (KAFKA-17754)",
        ),
    ),
    show=show,
)
