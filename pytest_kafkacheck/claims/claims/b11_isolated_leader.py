"""The leader is cut off from all other nodes, and a client with acks=1 goes on writing to it.

Exercised: another leader was elected, and the old one acknowledged writes after that.
"""

from __future__ import annotations

import time

from nemesis.faults.isolate import isolate
from pytest_kafkacheck.claims.claim import Answer, Claim
from pytest_kafkacheck.claims.clusters import CURRENT
from pytest_kafkacheck.claims.context import ScenarioContext
from pytest_kafkacheck.claims.exercising import exercised
from pytest_kafkacheck.claims.steps import LONG_MS, another_leader, more_acks


def show(context: ScenarioContext) -> Answer:
    topic = context.topic(config={"min.insync.replicas": 1})
    leader, other, _ = context.view(topic).replicas
    writer = context.writer(topic, acks=1, metadata_max_age_ms=LONG_MS)
    context.require(lambda: len(writer.acks) > 50, 15, "50 acks")
    with context.cluster.fault(isolate(leader)):
        cut = time.monotonic()
        elected = another_leader(context, topic, leader, at=other)
        two = time.monotonic()
        more_acks(context, writer, 100, 10, "the old leader acknowledges")
        still = context.view(topic, at=leader)
        acked = writer.stop()
        after = [ack for ack in acked if ack.sent > cut]
    exercised(still.leader == leader, "the old leader knows of the election")
    kept = set(context.read(topic).values())
    lost = {ack.value for ack in acked if ack.value not in kept}
    return Answer(
        holds={ack.value for ack in after} <= lost and len(after) > 100,
        seen=f"{len(after)} writes acknowledged by the isolated leader, {len(lost)} lost; "
        f"{sum(ack.sent > two for ack in after)} of them after the election of another leader",
        figures={
            "acknowledged in the cut": len(after),
            "lost": len(lost),
            "two leaders after (s)": round(elected, 1),
        },
    )


CLAIM = Claim(
    id="B11",
    title="an isolated leader takes writes that are lost",
    text="A leader that is cut off from its peers and the controller, but not from its clients, goes on "
    "acknowledging acks=1, and all these writes are lost when the cut ends.",
    source="https://aphyr.com/posts/293-jepsen-kafka",
    cases=CURRENT,
    show=show,
)
