"""A consumer has read a topic when it is deleted, created again with the same name, and written to.

Exercised: the topic held the new records and no old ones, and more of them than the consumer had read before.
"""

from __future__ import annotations

from kafka import TopicPartition

from pytest_kafkacheck.claims.claim import Answer, Claim
from pytest_kafkacheck.claims.clusters import CURRENT
from pytest_kafkacheck.claims.context import ScenarioContext, offsets
from pytest_kafkacheck.claims.exercising import exercised
from pytest_kafkacheck.cluster.kafka import topics

READ, NEW = 50, 100


def show(context: ScenarioContext) -> Answer:
    topic = context.topic()
    layout = {0: context.view(topic).replicas}
    context.write(topic, (f"old{number}" for number in range(READ)))
    consumer = context.consumer(topic)
    exercised(len(offsets(consumer, count=READ, limit=15)) == READ, f"{READ} records are read")
    topics.delete(context.cluster.brokers, topic)
    topics.create(context.cluster.brokers, topic, assignment=layout, config={})
    context.cluster.wait_settled()
    context.write(topic, (f"new{number}" for number in range(NEW)))
    rest = offsets(consumer, count=NEW, limit=8)
    kept = context.read(topic)
    exercised(
        list(kept.values()) == [f"new{number}" for number in range(NEW)], f"the topic holds {len(kept)}"
    )
    skipped = NEW - len(rest)
    return Answer(
        holds=rest == list(range(READ, NEW)) and consumer.position(TopicPartition(topic, 0)) == NEW,
        seen=f"of {NEW} records of the new topic the consumer got {len(rest)}, from offset {rest[:1]} on",
        figures={"records": NEW, "skipped": skipped},
    )


CLAIM = Claim(
    id="A14",
    title="a position outlives its topic",
    text="A consumer goes by the name of a topic: when it is deleted and created again, the consumer goes on at its "
    "old position, without an error, and skips the first records of the new one.",
    source="https://cwiki.apache.org/confluence/display/KAFKA/KIP-516%3A+Topic+Identifiers",
    cases=CURRENT,
    show=show,
)
