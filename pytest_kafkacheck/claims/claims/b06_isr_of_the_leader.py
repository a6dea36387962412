"""All followers are cut off from the leader, while records are written.

Exercised: the ISR shrank.
"""

from __future__ import annotations

from pytest_kafkacheck.claims.claim import Answer, Claim
from pytest_kafkacheck.claims.clusters import CURRENT
from pytest_kafkacheck.claims.context import ScenarioContext
from pytest_kafkacheck.claims.steps import leader_alone_in_sync, more_acks


def show(context: ScenarioContext) -> Answer:
    topic = context.topic()
    writer = context.writer(topic)
    leader = context.view(topic).leader
    with leader_alone_in_sync(context, topic, writer) as shrunk:
        more_acks(context, writer, 20, 10, "the leader alone acknowledges")
        alone = context.view(topic, at=leader)
    full = context.require(lambda: len(context.view(topic, at=leader).isr) == 3, 20, "the ISR is full again")
    writer.stop()
    return Answer(
        holds=alone.leader == leader and alone.isr == (leader,),
        seen=f"leader {alone.leader}, ISR {list(alone.isr)} during the cut",
        figures={"ISR of one after (s)": round(shrunk, 1), "full again after (s)": round(full, 1)},
    )


CLAIM = Claim(
    id="B6",
    title="an ISR of one",
    text="The ISR always contains the leader, and it may be only the leader: then acks=all is the acknowledgement of "
    "one broker.",
    source="https://kafka.apache.org/documentation/#design_ha",
    cases=CURRENT,
    show=show,
)
