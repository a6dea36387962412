"""A consumer has read what the leader alone had. That leader is killed, somebody asks for an unclean election, and
the new leader is written to until its log is longer than what the consumer has read.

Exercised: the consumer's position was above the offset at which the logs part, and below the end of the new one.
"""

from __future__ import annotations

import time

from kafka import TopicPartition
from kafka.errors import LogTruncationError

from pytest_kafkacheck.claims.claim import Answer, Claim
from pytest_kafkacheck.claims.clusters import BOTH_MODES
from pytest_kafkacheck.claims.context import ScenarioContext
from pytest_kafkacheck.claims.steps import elect_uncleanly, killed, leader_alone_in_sync, more_acks

ALONE = 50
"""Writes that the leader acknowledges alone."""

LIMIT = 20.0
"""Seconds in which the consumer has to learn of the truncation."""


def show(context: ScenarioContext) -> Answer:
    topic = context.topic(config={"unclean.leader.election.enable": False, "min.insync.replicas": 1})
    log = TopicPartition(topic, 0)
    leader, *followers = context.view(topic).replicas
    writer, consumer = context.writer(topic), context.consumer(topic)
    with leader_alone_in_sync(context, topic, writer):
        held = {node: context.end(topic, node) for node in followers}
        more_acks(context, writer, ALONE, 15, "the leader alone acknowledges")

        def has_read() -> bool:
            consumer.poll(timeout_ms=200)
            return bool(consumer.position(log) > max(held.values()) + ALONE // 2)

        context.require(has_read, 15, "the consumer reads what only the leader has")
        position = consumer.position(log)
        with killed(context, leader):
            elect_uncleanly(context, topic, leader, at=followers[0])
            elected = context.view(topic, at=followers[0]).leader
            parting = held[elected]
            context.require(
                lambda: context.end(topic, elected) > position + ALONE, 20, "the new log is longer"
            )
            began, told, read = time.monotonic(), None, 0
            while told is None and not read and time.monotonic() < began + LIMIT:
                try:
                    read = sum(map(len, consumer.poll(timeout_ms=200).values()))
                except LogTruncationError as error:
                    told = error.divergent_offsets.get(log)
            took = time.monotonic() - began
    return Answer(
        holds=told is not None and told.offset <= parting,
        seen=f"at position {position} of a log that parted from the new one at {parting}, the consumer "
        + (f"got {read} records of the new one" if told is None else f"was told to go back to {told.offset}"),
        figures={
            "position": position,
            "told offset": told.offset if told else "none",
            "told after (s)": round(took, 1),
        },
    )


CLAIM = Claim(
    id="C13",
    title="a consumer is told of a truncation",
    text="A consumer that has read records which an unclean election discarded learns by the leader epoch that its "
    "log was truncated, and from where on, although the new log reaches beyond its position.",
    source="https://cwiki.apache.org/confluence/display/KAFKA/KIP-320%3A+Allow+fetchers+to+detect+and+handle+log+"
    "truncation",
    cases=BOTH_MODES,
    show=show,
)
