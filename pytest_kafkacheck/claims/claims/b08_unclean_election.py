"""The ISR shrinks to the leader, the leader acknowledges acks=all alone, and is killed: Jepsen's test of 2013.

Exercised: a replica outside of the ISR became leader, and writes had been acknowledged without it.
"""

from __future__ import annotations

from pytest_kafkacheck.claims.claim import Answer, Claim
from pytest_kafkacheck.claims.clusters import BOTH_MODES
from pytest_kafkacheck.claims.context import ScenarioContext
from pytest_kafkacheck.claims.steps import killed, leader_alone_in_sync, more_acks

ALONE = 100
"""Writes that the leader acknowledges alone."""


def show(context: ScenarioContext) -> Answer:
    topic = context.topic(config={"unclean.leader.election.enable": True, "min.insync.replicas": 1})
    leader, *followers = context.view(topic).replicas
    writer = context.writer(topic)
    with leader_alone_in_sync(context, topic, writer):
        more_acks(context, writer, ALONE, 15, "the leader alone acknowledges")
        with killed(context, leader):
            without = context.require(
                lambda: context.view(topic, at=followers[0]).leader in followers,
                20,
                "a follower becomes leader",
            )
    acked = writer.stop()
    kept = set(context.read(topic).values())
    lost = [ack for ack in acked if ack.value not in kept]
    return Answer(
        holds=len(lost) >= ALONE,
        seen=f"{len(lost)} of {len(acked)} acknowledged records are lost",
        figures={
            "acknowledged": len(acked),
            "lost": len(lost),
            "election after the kill (s)": round(without, 1),
        },
    )


CLAIM = Claim(
    id="B8",
    title="unclean election loses writes",
    text="With unclean.leader.election.enable=true a replica that is not in sync becomes leader, and acknowledged "
    "records are lost, with acks=all as well.",
    source="https://aphyr.com/posts/293-jepsen-kafka",
    cases=BOTH_MODES,
    show=show,
)
