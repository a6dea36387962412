"""The active controller is killed under load. It has no replica of the partition that is written and read: where
controllers are apart it is no broker, and in ZooKeeper mode the partition is on the other brokers.

Exercised: another controller took over, and before that records were acknowledged and read.
"""

from __future__ import annotations

import time

from nemesis.faults.kill import kill
from pytest_kafkacheck.claims.claim import Answer, Case, Claim
from pytest_kafkacheck.claims.clusters import CONTROLLERS_APART, OLDEST, ZOOKEEPER
from pytest_kafkacheck.claims.context import ScenarioContext
from pytest_kafkacheck.claims.exercising import exercised
from pytest_kafkacheck.claims.steps import more_acks

LONGEST = 1.0
"""Seconds without an acknowledgement, or without a record, that count as "goes on", on a busy machine."""


def show(context: ScenarioContext) -> Answer:
    before = context.cluster.controller()
    assert before is not None
    topic = context.topic(
        [node for node in context.brokers if node != before], config={"min.insync.replicas": 2}
    )
    writer, reader = context.writer(topic), context.reader(topic)
    context.require(lambda: min(len(writer.acks), len(reader.times)) > 50, 15, "50 records written and read")
    began = time.monotonic()
    with context.cluster.fault(kill(before)):
        context.require(lambda: context.cluster.controller() not in (None, before), 20, "another controller")
        elected = time.monotonic()
        more_acks(context, writer, 20, 15, "writes go on")
        gap, silence = writer.longest_gap(since=began), reader.longest_gap(since=began)
        acks, reads = writer.count(began, elected), reader.count(began, elected)
    took = elected - began
    exercised(acks > 0 and reads > 0, f"{acks} acks and {reads} reads before another controller was there")
    acked = writer.stop()
    kept = set(context.read(topic).values())
    lost = sum(ack.value not in kept for ack in acked)
    return Answer(
        holds=max(gap, silence) < LONGEST and not lost,
        seen=f"another controller after {took:.1f} s, in which {acks} records were acknowledged and {reads} read; no "
        f"acknowledgement for {gap:.2f} s and no record for {silence:.2f} s at most, {lost} lost",
        figures={
            "new controller after (s)": round(took, 1),
            "longest wait for an ack (s)": round(gap, 2),
            "longest wait for a record (s)": round(silence, 2),
        },
    )


CLAIM = Claim(
    id="D2",
    title="controller failover",
    text="When the active controller fails, another one takes over by itself, and reads and writes go on meanwhile.",
    source="https://cwiki.apache.org/confluence/display/KAFKA/KIP-500%3A+Replace+ZooKeeper+with+a+Self-Managed+"
    "Metadata+Quorum",
    cases=(
        Case(name="4.1.1 controllers apart", cluster=CONTROLLERS_APART),
        Case(name="3.9.2 ZooKeeper", cluster=ZOOKEEPER),
        Case(name="2.8.2 ZooKeeper", cluster=OLDEST),
    ),
    show=show,
)
