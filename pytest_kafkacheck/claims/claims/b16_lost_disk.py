"""The ISR shrinks to the leader, which is killed, loses all replicas on its disk, and returns.

Exercised: something was removed from the disk, the leader led again, and the others had had records.
"""

from __future__ import annotations

from nemesis.faults.wipe import wipe
from pytest_kafkacheck.claims.claim import Answer, Claim
from pytest_kafkacheck.claims.clusters import BOTH_MODES
from pytest_kafkacheck.claims.context import ScenarioContext
from pytest_kafkacheck.claims.exercising import exercised
from pytest_kafkacheck.claims.steps import leader_alone_in_sync, more_acks

ALONE = 50
"""Writes that the leader acknowledges alone."""


def show(context: ScenarioContext) -> Answer:
    topic = context.topic(config={"unclean.leader.election.enable": False, "min.insync.replicas": 1})
    leader, *followers = context.view(topic).replicas
    writer = context.writer(topic)
    with leader_alone_in_sync(context, topic, writer):
        more_acks(context, writer, ALONE, 15, "the leader alone acknowledges")
        held = min(context.end(topic, node) for node in followers)
        acked = writer.stop()
        with context.cluster.fault(wipe(leader)):
            pass
        context.require(lambda: context.view(topic).leader == leader, 20, "the leader is back")
    exercised(held > 0, "the followers had no records")
    context.cluster.wait_settled()
    kept = set(context.read(topic).values())
    lost = sum(ack.value not in kept for ack in acked)
    return Answer(
        holds=lost == len(acked),
        seen=f"{lost} of {len(acked)} acknowledged records are lost, also {held} that every replica had",
        figures={"acknowledged": len(acked), "lost": lost, "had been on all replicas": held},
    )


CLAIM = Claim(
    id="B16",
    title="a lost disk is copied",
    text="If the last replica in the ISR loses its disk, it leads again when it returns, with nothing, and the "
    "others truncate to that: every record is lost, with unclean.leader.election.enable=false.",
    source="https://cwiki.apache.org/confluence/display/KAFKA/KIP-966%3A+Eligible+Leader+Replicas",
    cases=BOTH_MODES,
    show=show,
)
