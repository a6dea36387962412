"""Consumers in processes of their own are killed one after another, each after it has processed records and before
they are committed. Then another one reads the rest. Once they commit by hand after each poll, and once the client
does so by itself, which is the default.

Exercised: each of them had committed a poll, and had processed another one when it was killed.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from kafka import TopicPartition

from pytest_kafkacheck.claims.claim import Answer, Claim
from pytest_kafkacheck.claims.clusters import CURRENT
from pytest_kafkacheck.claims.context import ScenarioContext, offsets
from pytest_kafkacheck.claims.exercising import exercised
from pytest_kafkacheck.claims.killed_program import killed_after_a_line

RECORDS, POLL, CRASHES = 80, 20, 2

BY_HAND, BY_ITSELF = "commit by hand", "auto-commit"

INTERVAL_MS = 300
"""Between two commits of the client. A poll commits what earlier polls have returned."""

PROGRAM = """
import json, sys, time
from kafka import KafkaConsumer, TopicPartition
from kafka.structs import OffsetAndMetadata
from workloads.clients.kafka_python import access
settings, topic, count = json.loads(sys.argv[1])
access(())
consumer = KafkaConsumer(**settings)
log = TopicPartition(topic, 0)
consumer.assign([log])
def polled():
    while True:
        for records in consumer.poll(timeout_ms=100, max_records=count).values():
            return [record.offset for record in records]
def committed():
    found = consumer.committed(log)
    return found.offset if isinstance(found, OffsetAndMetadata) else found
first = polled()
if settings["enable_auto_commit"]:
    time.sleep(settings["auto_commit_interval_ms"] / 1000)
else:
    consumer.commit()
second = polled()
while committed() != first[-1] + 1:
    time.sleep(0.05)
print(json.dumps([first, second]), flush=True)
sys.stdin.read()
"""


class Course(NamedTuple):
    """Offsets that each consumer processed, in order, and the committed offset at which it had to begin."""

    processed: list[list[int]]
    begins: list[int]

    @property
    def twice(self) -> int:
        return sum(map(len, self.processed)) - len({offset for each in self.processed for offset in each})

    @property
    def skipped(self) -> int:
        return RECORDS - len({offset for each in self.processed for offset in each})

    @property
    def begins_at_commits(self) -> bool:
        return [each[0] for each in self.processed] == self.begins


def show(context: ScenarioContext) -> Answer:
    courses = {BY_HAND: _course(context, {}), BY_ITSELF: _course(context, {"enable_auto_commit": True})}
    return Answer(
        holds=all(each.twice and not each.skipped and each.begins_at_commits for each in courses.values()),
        seen="; ".join(
            f"{name}: {CRASHES} consumers were killed, and {each.twice} of {RECORDS} records were processed twice, "
            f"{each.skipped} never"
            for name, each in courses.items()
        ),
        figures={
            **{f"processed twice, {name}": each.twice for name, each in courses.items()},
            "skipped": sum(each.skipped for each in courses.values()),
        },
    )


def _course(context: ScenarioContext, commits: dict[str, Any]) -> Course:
    topic = context.topic()
    context.write(topic, (f"v{number}" for number in range(RECORDS)))
    settings = context.group_settings(f"{topic}-group", auto_commit_interval_ms=INTERVAL_MS, **commits)
    processed, begins = [], [0]
    for _ in range(CRASHES):
        shown = killed_after_a_line(
            context, PROGRAM, settings, topic, POLL, until="the consumer has processed two polls"
        )
        first, second = shown or ([], [])
        processed.append(first + second)
        begins.append(context.committed(settings["group_id"], topic))
        exercised(
            bool(second) and begins[-1] == second[0], f"{second} were processed, {begins[-1]} is committed"
        )
    last = context.consumer(group_id=settings["group_id"], auto_offset_reset="earliest")
    last.assign([TopicPartition(topic, 0)])
    processed.append(offsets(last, count=RECORDS - begins[-1], limit=20))
    exercised(bool(processed[-1]), "the last consumer got no records")
    return Course(processed, begins)


CLAIM = Claim(
    id="A6",
    title="at least once",
    text="By default, and with a commit after the work, a consumer that crashes before it has committed lets its "
    "successor get records again, from the committed offset on. None is skipped.",
    source="https://kafka.apache.org/documentation/#semantics",
    cases=CURRENT,
    show=show,
)
