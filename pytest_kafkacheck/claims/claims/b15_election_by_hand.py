"""As B9, but while there is no leader, somebody asks for an unclean election.

Exercised: there was no leader, a replica outside of the ISR became leader by that request, and was written to.
"""

from __future__ import annotations

from pytest_kafkacheck.claims.claim import Answer, Claim
from pytest_kafkacheck.claims.clusters import BOTH_MODES
from pytest_kafkacheck.claims.context import ScenarioContext
from pytest_kafkacheck.claims.steps import elect_uncleanly, killed, leader_alone_in_sync, more_acks

ALONE = 100
"""Writes that the leader acknowledges alone."""


def show(context: ScenarioContext) -> Answer:
    topic = context.topic(config={"unclean.leader.election.enable": False, "min.insync.replicas": 1})
    leader, *followers = context.view(topic).replicas
    writer = context.writer(topic)
    with leader_alone_in_sync(context, topic, writer):
        more_acks(context, writer, ALONE, 15, "the leader alone acknowledges")
        with killed(context, leader):
            before = list(writer.acks)
            elect_uncleanly(context, topic, leader, at=followers[0])
            more_acks(context, writer, ALONE, 15, "the new leader acknowledges")
    writer.stop()
    context.cluster.wait_settled()
    kept = context.read(topic)
    values = set(kept.values())
    lost = [ack for ack in before if ack.value not in values]
    reused = sum(ack.offset in kept for ack in lost)
    return Answer(
        holds=len(lost) >= ALONE and reused > 0,
        seen=f"{len(lost)} of {len(before)} records that the first leader had acknowledged are lost, and {reused} of "
        f"their offsets hold others",
        figures={"acknowledged": len(before), "lost": len(lost), "offsets with other records": reused},
    )


CLAIM = Claim(
    id="B15",
    title="an unclean election by hand loses writes",
    text="unclean.leader.election.enable=false does not bind administrators: an election of the type UNCLEAN makes a "
    "replica leader that lacks acknowledged records. They are lost, and their offsets hold others.",
    source="https://cwiki.apache.org/confluence/display/KAFKA/KIP-460%3A+Admin+Leader+Election+RPC",
    cases=BOTH_MODES,
    show=show,
)
