"""The ISR shrinks to the leader of a topic with min.insync.replicas=2; a record is sent with acks=all.

Exercised: the same request was accepted before the ISR shrank.
"""

from __future__ import annotations

from pytest_kafkacheck.claims.claim import Answer, Claim
from pytest_kafkacheck.claims.clusters import BOTH_MODES
from pytest_kafkacheck.claims.context import ScenarioContext, offsets
from pytest_kafkacheck.claims.exercising import exercised
from pytest_kafkacheck.claims.produce import NOT_ENOUGH_REPLICAS
from pytest_kafkacheck.claims.steps import leader_alone_in_sync

RECORDS = 20


def show(context: ScenarioContext) -> Answer:
    topic = context.topic(config={"min.insync.replicas": 2})
    leader = context.view(topic).leader
    context.write(topic, (f"v{number}" for number in range(RECORDS)))
    exercised(
        context.produce(topic, leader, "before", limit=10)[0] == 0, "acks=all was refused with a full ISR"
    )
    writer = context.writer(topic, acks=1)
    with leader_alone_in_sync(context, topic, writer):
        code, seconds = context.produce(topic, leader, "refused")
        read = offsets(context.consumer(topic), count=RECORDS, limit=10)
    in_the_end = "refused" in context.read(topic).values()
    return Answer(
        holds=code == NOT_ENOUGH_REPLICAS and len(read) >= RECORDS and not in_the_end,
        seen=f"acks=all was answered with error {code} after {seconds * 1000:.0f} ms, {len(read)} records were read",
        figures={"refused after (ms)": round(seconds * 1000), "records read meanwhile": len(read)},
    )


CLAIM = Claim(
    id="B7",
    title="writes refused below min.insync.replicas",
    text="With fewer in-sync replicas than min.insync.replicas, acks=all is refused at once with "
    "NOT_ENOUGH_REPLICAS, nothing is appended, and reads go on.",
    source="https://kafka.apache.org/documentation/#topicconfigs_min.insync.replicas",
    cases=BOTH_MODES,
    show=show,
)
