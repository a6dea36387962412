"""Followers get no records, the leader appends five with acks=1, and a consumer reads.

Exercised: the leader's log end was above its high watermark.
"""

from __future__ import annotations

from nemesis.faults.partition import partition
from pytest_kafkacheck.claims.claim import Answer, Claim
from pytest_kafkacheck.claims.clusters import CURRENT
from pytest_kafkacheck.claims.context import ScenarioContext, offsets
from pytest_kafkacheck.claims.exercising import exercised

BEFORE, ABOVE = 20, 5


def show(context: ScenarioContext) -> Answer:
    # With an ISR below min.insync.replicas the high watermark stands still since Kafka 3.7 (KAFKA-15583).
    topic = context.topic(config={"min.insync.replicas": 2})
    leader, *followers = context.view(topic).replicas
    context.write(topic, (f"v{number}" for number in range(BEFORE)))
    context.require(
        lambda: context.marks(topic, leader).high_watermark == BEFORE, 5, "the records are committed"
    )
    consumer = context.consumer(topic)
    with context.cluster.fault(partition([[leader], followers], plane="replication")):
        for number in range(ABOVE):
            context.produce(topic, leader, f"above{number}", acks=1)
        mark, end = context.marks(topic, leader).high_watermark, context.end(topic, leader)
        exercised(end == BEFORE + ABOVE and mark == BEFORE, f"the mark is {mark} and the end {end}")
        in_the_cut = len(offsets(consumer, count=BEFORE + 1, limit=3))
        after = context.marks(topic, leader).high_watermark
    read = in_the_cut + len(offsets(consumer, count=BEFORE + ABOVE - in_the_cut, limit=20))
    return Answer(
        holds=in_the_cut == BEFORE == after and read == BEFORE + ABOVE,
        seen=f"high watermark {mark}, log end {end}: {in_the_cut} records were read; {read} after the cut",
        figures={"log end": end, "high watermark": mark, "read": in_the_cut},
    )


CLAIM = Claim(
    id="C2",
    title="reads stop at the high watermark",
    text="Consumers never see a record at or above the high watermark, although the leader has it and has "
    "acknowledged it with acks=1.",
    source="https://kafka.apache.org/documentation/#replication",
    cases=CURRENT,
    show=show,
)
