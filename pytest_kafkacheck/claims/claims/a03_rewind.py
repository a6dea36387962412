"""A consumer reads a log, goes back to 30 random offsets, and reads again.

Exercised: the consumer went back, and got records again.
"""

from __future__ import annotations

from random import Random

from kafka import TopicPartition

from pytest_kafkacheck.claims.claim import Answer, Claim
from pytest_kafkacheck.claims.clusters import CURRENT
from pytest_kafkacheck.claims.context import ScenarioContext
from pytest_kafkacheck.claims.exercising import exercised

RECORDS, JUMPS = 300, 30


def show(context: ScenarioContext) -> Answer:
    topic = context.topic()
    context.write(topic, (f"v{number}" for number in range(RECORDS)))
    first = context.read(topic)
    consumer, log = context.consumer(topic), TopicPartition(topic, 0)
    random, again, different = Random(3), 0, 0
    for _ in range(JUMPS):
        at = random.randrange(RECORDS)
        consumer.seek(log, at)
        records = consumer.poll(timeout_ms=2000).get(log, ())
        again += len(records)
        different += sum(first[record.offset] != record.value.decode() for record in records)
        different += bool(records) and records[0].offset != at
    exercised(again > JUMPS, f"only {again} records were read again")
    return Answer(
        holds=not different,
        seen=f"{again} records were read again after {JUMPS} jumps, {different} of them other than before",
        figures={"read again": again, "different": different},
    )


CLAIM = Claim(
    id="A3",
    title="rewind",
    text="A consumer can go back and read again: the same offsets give the same records, until retention removes "
    "them.",
    source="https://kafka.apache.org/documentation/#design_consumerposition",
    cases=CURRENT,
    show=show,
)
