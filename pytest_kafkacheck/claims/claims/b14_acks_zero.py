"""A producer sends with acks=0, followers get no records for a moment, still in sync, and the leader is killed.

Exercised: a follower became leader, and the producer had sent after the followers were cut off.
"""

from __future__ import annotations

import time

from nemesis.faults.partition import partition
from pytest_kafkacheck.claims.claim import Answer, Claim
from pytest_kafkacheck.claims.clusters import CURRENT
from pytest_kafkacheck.claims.context import ScenarioContext
from pytest_kafkacheck.claims.exercising import exercised
from pytest_kafkacheck.claims.steps import another_leader, killed


def show(context: ScenarioContext) -> Answer:
    topic = context.topic(config={"min.insync.replicas": 2})
    leader, *followers = context.view(topic).replicas
    writer = context.writer(topic, acks=0)
    context.require(lambda: len(writer.acks) > 50, 15, "50 records are sent")
    with context.cluster.fault(partition([[leader], followers], plane="replication")):
        cut = time.monotonic()
        context.wait(lambda: writer.count(cut, time.monotonic()) >= 10, 0.5)
        with killed(context, leader):
            in_the_cut = writer.count(cut, time.monotonic())
            another_leader(context, topic, leader, at=followers[0])
    exercised(in_the_cut > 0, "nothing was sent between the cut and the kill")
    sent = writer.stop()
    kept = set(context.read(topic).values())
    lost = sum(each.value not in kept for each in sent)
    return Answer(
        holds=lost > 0,
        seen=f"{lost} of {len(sent)} records that the producer counted as sent are lost",
        figures={"sent": len(sent), "lost": lost},
    )


CLAIM = Claim(
    id="B14",
    title="acks=0 is no acknowledgement",
    text="With acks=0 a record counts as sent before any broker has it. When the leader fails, such records are lost "
    "without an error, whatever min.insync.replicas is.",
    source="https://kafka.apache.org/documentation/#producerconfigs_acks",
    cases=CURRENT,
    show=show,
)
