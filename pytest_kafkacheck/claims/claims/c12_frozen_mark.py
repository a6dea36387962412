"""The ISR shrinks to the leader, below min.insync.replicas, and a producer with acks=1 goes on.

Exercised: records were acknowledged while the ISR was that short.
"""

from __future__ import annotations

from pytest_kafkacheck.claims.claim import Answer, Case, Claim
from pytest_kafkacheck.claims.clusters import BOTH_MODES, OLDEST
from pytest_kafkacheck.claims.context import ScenarioContext
from pytest_kafkacheck.claims.steps import leader_alone_in_sync, more_acks

MORE = 50


def show(context: ScenarioContext) -> Answer:
    topic = context.topic(config={"min.insync.replicas": 2, "unclean.leader.election.enable": False})
    leader, *_ = context.view(topic).replicas
    writer = context.writer(topic, acks=1)
    with leader_alone_in_sync(context, topic, writer):
        before = context.marks(topic, leader).high_watermark
        more_acks(context, writer, MORE, 15, "the leader acknowledges acks=1 alone")
        after = context.marks(topic, leader).high_watermark
        hidden = context.end(topic, leader) - after
    acked = writer.stop()
    context.require(
        lambda: context.marks(topic, leader).high_watermark >= len(acked), 20, "the mark reaches the end"
    )
    kept = set(context.read(topic).values())
    lost = sum(ack.value not in kept for ack in acked)
    return Answer(
        holds=after == before and hidden >= MORE and not lost,
        seen=f"while {MORE} records were acknowledged, the mark moved by {after - before}, and {hidden} records were "
        f"above it; {lost} lost",
        figures={"acknowledged and hidden": hidden, "moved by": after - before, "lost": lost},
    )


CLAIM = Claim(
    id="C12",
    title="the mark stands still below min.insync.replicas",
    text="While the ISR has fewer replicas than min.insync.replicas, the high watermark stands still: records that "
    "acks=1 acknowledges then cannot be read until replicas return.",
    source="https://issues.apache.org/jira/browse/KAFKA-15583",
    cases=(
        *BOTH_MODES,
        Case(
            name="2.8.2 ZooKeeper",
            cluster=OLDEST,
            expected="refuted",
            why="before Kafka 3.7 the mark is the lowest log end of the ISR, however short that is (KAFKA-15583)",
        ),
    ),
    show=show,
)
