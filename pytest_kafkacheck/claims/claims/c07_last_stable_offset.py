"""A transaction stays open while other records are written behind it, and a consumer reads committed records.

Exercised: the high watermark was above the last stable offset.
"""

from __future__ import annotations

from pytest_kafkacheck.claims.claim import Answer, Claim
from pytest_kafkacheck.claims.clusters import CURRENT
from pytest_kafkacheck.claims.context import ScenarioContext, offsets
from pytest_kafkacheck.claims.exercising import exercised

BEFORE, OPEN, BEHIND = 10, 5, 10


def show(context: ScenarioContext) -> Answer:
    topic = context.topic()
    leader = context.view(topic).leader
    context.write(topic, (f"v{number}" for number in range(BEFORE)))
    producer = context.producer(transactional_id=topic)
    producer.init_transactions()
    producer.begin_transaction()
    for number in range(OPEN):
        producer.send(topic, f"open{number}".encode(), partition=0).get(timeout=10)
    context.write(topic, (f"behind{number}" for number in range(BEHIND)))
    marks = context.marks(topic, leader)
    exercised(
        marks.last_stable == BEFORE and marks.high_watermark == BEFORE + OPEN + BEHIND,
        f"last stable offset {marks.last_stable}, high watermark {marks.high_watermark}",
    )
    consumer = context.consumer(topic, isolation_level="read_committed")
    while_open = len(offsets(consumer, count=BEFORE + 1, limit=2))
    producer.commit_transaction()
    total = BEFORE + OPEN + BEHIND
    after = while_open + len(offsets(consumer, count=total - while_open, limit=10))
    return Answer(
        holds=while_open == BEFORE and after == total,
        seen=f"while the transaction was open, {while_open} of {BEFORE + BEHIND} committed records were read; "
        f"{after} after its end",
        figures={"last stable offset": BEFORE, "read while open": while_open, "read after": after},
    )


CLAIM = Claim(
    id="C7",
    title="committed reads stop at the last stable offset",
    text="A consumer with isolation.level=read_committed stops at the first offset of an open transaction, "
    "also before records that belong to none.",
    source="https://kafka.apache.org/documentation/#consumerconfigs_isolation.level",
    cases=CURRENT,
    show=show,
)
