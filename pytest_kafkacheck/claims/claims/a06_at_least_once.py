"""A consumer polls 100 records and commits 40 of them; then another one goes on in its place.

Exercised: the second consumer got records, and the first one had polled records that it did not commit.
"""

from __future__ import annotations

from kafka import TopicPartition
from kafka.structs import OffsetAndMetadata

from pytest_kafkacheck.claims.claim import Answer, Claim
from pytest_kafkacheck.claims.clusters import CURRENT
from pytest_kafkacheck.claims.context import ScenarioContext, offsets
from pytest_kafkacheck.claims.exercising import exercised

RECORDS, COMMITTED = 100, 40


def show(context: ScenarioContext) -> Answer:
    topic = context.topic()
    context.write(topic, (f"v{number}" for number in range(RECORDS)))
    log, group = TopicPartition(topic, 0), f"{topic}-group"
    handled = []
    for commits in (True, False):
        # It has polled more than it commits, and ends without another commit, as a crash would end it.
        consumer = context.consumer(group_id=group, auto_offset_reset="earliest")
        consumer.assign([log])
        handled.append(offsets(consumer, count=RECORDS if commits else RECORDS - COMMITTED, limit=20))
        if commits:
            consumer.commit({log: OffsetAndMetadata(COMMITTED, "", -1)})
        consumer.close(autocommit=False)
    first, second = handled
    exercised(len(first) == RECORDS and bool(second), f"{len(first)} and {len(second)} records were polled")
    twice = len(set(first) & set(second))
    skipped = set(range(COMMITTED, RECORDS)) - set(second)
    return Answer(
        holds=twice == RECORDS - COMMITTED and second[0] == COMMITTED and not skipped,
        seen=f"the second consumer started at {second[0]}: {twice} records were handled twice, {len(skipped)} "
        "skipped",
        figures={"handled twice": twice, "skipped": len(skipped)},
    )


CLAIM = Claim(
    id="A6",
    title="at least once",
    text="A consumer that commits after its work gets records again after a crash, from the committed offset on, and "
    "skips none.",
    source="https://kafka.apache.org/documentation/#semantics",
    cases=CURRENT,
    show=show,
)
