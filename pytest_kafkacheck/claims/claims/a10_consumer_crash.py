"""A consumer in another process is killed between a poll and the processing of its records, once with the commit of
each poll before its processing and once after it. Then another one goes on in its place.

Exercised: the killed consumer had processed and committed a poll, and had polled further records.
"""

from __future__ import annotations

from typing import NamedTuple

from kafka import TopicPartition

from pytest_kafkacheck.claims.claim import Answer, Claim
from pytest_kafkacheck.claims.clusters import CURRENT
from pytest_kafkacheck.claims.context import ScenarioContext, offsets
from pytest_kafkacheck.claims.exercising import exercised
from pytest_kafkacheck.claims.killed_program import killed_after_a_line

RECORDS, POLL = 60, 20

PROGRAM = """
import json, sys
from kafka import KafkaConsumer, TopicPartition
from workloads.clients.kafka_python import access
settings, topic, order, count = json.loads(sys.argv[1])
access(())
consumer = KafkaConsumer(**settings)
consumer.assign([TopicPartition(topic, 0)])
def polled():
    while True:
        for records in consumer.poll(timeout_ms=100, max_records=count).values():
            return [record.offset for record in records]
processed = polled()
if order == "before":
    consumer.commit()
# Here the records are processed.
if order == "after":
    consumer.commit()
unprocessed = polled()
if order == "before":
    consumer.commit()
print(json.dumps([processed, unprocessed]), flush=True)
sys.stdin.read()
"""


class Crash(NamedTuple):
    """Offsets that a consumer had processed, those that it had polled besides, and those that its successor got."""

    processed: list[int]
    unprocessed: list[int]
    successor: list[int]

    @property
    def skipped(self) -> list[int]:
        return sorted({*range(RECORDS)} - {*self.processed, *self.successor})


def show(context: ScenarioContext) -> Answer:
    before, after = _crash(context, "before"), _crash(context, "after")
    for order, each in (("before", before), ("after", after)):
        counts = " and ".join(f"{len(some)} {name}" for name, some in each._asdict().items())
        exercised(all(each), f"commit {order} processing: {counts}")
    return Answer(
        holds=before.skipped == before.unprocessed and not after.skipped,
        seen=f"with the commit before processing, the successor skipped {len(before.skipped)} records; with the "
        f"commit after it, {len(after.skipped)}",
        figures={"skipped, commit before": len(before.skipped), "skipped, commit after": len(after.skipped)},
    )


def _crash(context: ScenarioContext, order: str) -> Crash:
    topic = context.topic()
    context.write(topic, (f"v{number}" for number in range(RECORDS)))
    settings = context.group_settings(f"{topic}-group")
    shown = killed_after_a_line(
        context, PROGRAM, settings, topic, order, POLL, until="the consumer has polled twice"
    )
    processed, unprocessed = shown or ([], [])
    successor = context.consumer(group_id=settings["group_id"], auto_offset_reset="earliest")
    successor.assign([TopicPartition(topic, 0)])
    committed = len(processed) + len(unprocessed) * (order == "before")
    return Crash(processed, unprocessed, offsets(successor, count=RECORDS - committed, limit=30))


CLAIM = Claim(
    id="A10",
    title="consumer crash",
    text="A consumer that commits before its work and crashes leaves out what it had polled and not processed. One "
    "that commits after its work leaves out nothing.",
    source="https://kafka.apache.org/documentation/#semantics",
    cases=CURRENT,
    show=show,
)
