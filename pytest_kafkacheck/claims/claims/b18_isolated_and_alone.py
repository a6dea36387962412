"""The ISR shrinks to the leader, with unclean.leader.election.enable=true, and then the leader is cut off from all
other nodes. A client with acks=all goes on writing to it.

Exercised: another leader was elected, and the old one acknowledged writes after that.
"""

from __future__ import annotations

import time

from nemesis.faults.isolate import isolate
from pytest_kafkacheck.claims.claim import Answer, Claim
from pytest_kafkacheck.claims.clusters import CURRENT
from pytest_kafkacheck.claims.context import ScenarioContext
from pytest_kafkacheck.claims.exercising import exercised
from pytest_kafkacheck.claims.steps import LONG_MS, another_leader, leader_alone_in_sync, more_acks

ALONE = 100
"""Writes that the old leader acknowledges beside the new one."""


def show(context: ScenarioContext) -> Answer:
    topic = context.topic(config={"unclean.leader.election.enable": True, "min.insync.replicas": 1})
    leader, other, _ = context.view(topic).replicas
    writer = context.writer(topic, metadata_max_age_ms=LONG_MS)
    with leader_alone_in_sync(context, topic, writer), context.cluster.fault(isolate(leader)):
        another_leader(context, topic, leader, at=other)
        two = time.monotonic()
        more_acks(context, writer, ALONE, 15, "the old leader acknowledges")
        still = context.view(topic, at=leader)
        acked = writer.stop()
    exercised(still.leader == leader, "the old leader knows of the election")
    after = [ack for ack in acked if ack.sent > two]
    context.cluster.wait_settled()
    kept = set(context.read(topic).values())
    lost = {ack.value for ack in acked if ack.value not in kept}
    return Answer(
        holds=len(after) >= ALONE and {ack.value for ack in after} <= lost,
        seen=f"{len(lost)} of {len(acked)} writes with acks=all are lost; {len(after)} of them were acknowledged "
        f"after the election of another leader",
        figures={"acknowledged": len(acked), "lost": len(lost), "after the election": len(after)},
    )


CLAIM = Claim(
    id="B18",
    title="acks=all of a leader without peers",
    text="With unclean elections, min.insync.replicas=1 and an ISR of one, a leader that is cut off goes on "
    "acknowledging acks=all while another one leads, and all these writes are lost when the cut ends.",
    source="https://aphyr.com/posts/293-jepsen-kafka",
    cases=CURRENT,
    show=show,
)
