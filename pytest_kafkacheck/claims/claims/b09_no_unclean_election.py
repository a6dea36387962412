"""As B8, with unclean.leader.election.enable=false: the leader stays away for five seconds, and returns.

Exercised: there was no leader, although two replicas were up.
"""

from __future__ import annotations

from pytest_kafkacheck.claims.claim import Answer, Claim
from pytest_kafkacheck.claims.clusters import BOTH_MODES
from pytest_kafkacheck.claims.context import ScenarioContext
from pytest_kafkacheck.claims.steps import killed, leader_alone_in_sync, more_acks

ALONE = 100
AWAY = 5.0
"""Seconds without a leader."""


def show(context: ScenarioContext) -> Answer:
    topic = context.topic(config={"unclean.leader.election.enable": False, "min.insync.replicas": 1})
    leader, *followers = context.view(topic).replicas
    writer = context.writer(topic)
    with leader_alone_in_sync(context, topic, writer):
        more_acks(context, writer, ALONE, 15, "the leader alone acknowledges")
        with killed(context, leader):
            context.require(
                lambda: context.view(topic, at=followers[0]).leader < 0, 20, "the partition has no leader"
            )
            other = context.wait(lambda: context.view(topic, at=followers[0]).leader in followers, AWAY)
    returned = context.require(lambda: context.view(topic).leader == leader, 20, "the leader is back")
    acked = writer.stop()
    kept = set(context.read(topic).values())
    lost = [ack for ack in acked if ack.value not in kept]
    return Answer(
        holds=other is None and not lost,
        seen=f"no other leader within {AWAY:g} s, {len(lost)} of {len(acked)} acknowledged records lost",
        figures={
            "acknowledged": len(acked),
            "lost": len(lost),
            "leader after its return (s)": round(returned, 1),
        },
    )


CLAIM = Claim(
    id="B9",
    title="without unclean election nothing is lost",
    text="With unclean.leader.election.enable=false the partition has no leader until a replica that was in sync "
    "returns, and nothing that was acknowledged is lost.",
    source="https://kafka.apache.org/documentation/#design_uncleanleader",
    cases=BOTH_MODES,
    show=show,
)
