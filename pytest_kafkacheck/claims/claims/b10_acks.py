"""Followers get no records for a moment and are still in sync, and the leader is killed. One topic is written with
acks=all and min.insync.replicas=2, another one with acks=1.

Exercised: a follower became leader of both, and acks=1 was acknowledged after the followers had been cut off.
"""

from __future__ import annotations

import time

from nemesis.faults.partition import partition
from pytest_kafkacheck.claims.claim import Answer, Claim
from pytest_kafkacheck.claims.clusters import CURRENT
from pytest_kafkacheck.claims.context import ScenarioContext
from pytest_kafkacheck.claims.exercising import exercised
from pytest_kafkacheck.claims.steps import killed


def show(context: ScenarioContext) -> Answer:
    safe = context.topic(config={"min.insync.replicas": 2})
    leader, *followers = context.view(safe).replicas
    unsafe = context.topic((leader, *followers), config={"min.insync.replicas": 1})
    writers = {safe: context.writer(safe, acks="all"), unsafe: context.writer(unsafe, acks=1)}
    context.require(
        lambda: all(len(writer.acks) > 50 for writer in writers.values()), 15, "50 acks on both topics"
    )
    with context.cluster.fault(partition([[leader], followers], plane="replication")):
        cut = time.monotonic()
        context.wait(lambda: writers[unsafe].count(cut, time.monotonic()) >= 10, 0.5)
        with killed(context, leader):
            after_cut = writers[unsafe].count(cut, time.monotonic())
            context.require(
                lambda: all(context.view(topic, at=followers[0]).leader in followers for topic in writers),
                20,
                "a follower becomes leader of both topics",
            )
    exercised(after_cut > 0, "acks=1 was not acknowledged between the cut and the kill")
    acked = {topic: writer.stop() for topic, writer in writers.items()}
    lost = {}
    for topic, acks in acked.items():
        kept = set(context.read(topic).values())
        lost[topic] = sum(ack.value not in kept for ack in acks)
    return Answer(
        holds=lost[unsafe] > 0 and not lost[safe],
        seen=f"acks=1 lost {lost[unsafe]} of {len(acked[unsafe])}, acks=all lost {lost[safe]} of {len(acked[safe])}",
        figures={"lost with acks=1": lost[unsafe], "lost with acks=all": lost[safe]},
    )


CLAIM = Claim(
    id="B10",
    title="acks=1 loses on failover",
    text="acks=1 may lose acknowledged records on failover; acks=all with min.insync.replicas=2 does not.",
    source="https://kafka.apache.org/documentation/#producerconfigs_acks",
    cases=CURRENT,
    show=show,
)
