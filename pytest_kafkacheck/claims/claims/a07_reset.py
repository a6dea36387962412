"""Three new groups read a topic that has records, each with another value of auto.offset.reset.

Exercised: no group has a committed offset, and the records before and after the start are known.
"""

from __future__ import annotations

from kafka import TopicPartition
from kafka.errors import NoOffsetForPartitionError

from pytest_kafkacheck.claims.claim import Answer, Claim
from pytest_kafkacheck.claims.clusters import CURRENT
from pytest_kafkacheck.claims.context import ScenarioContext
from pytest_kafkacheck.claims.exercising import exercised

BEFORE = 20


def show(context: ScenarioContext) -> Answer:
    topic = context.topic()
    context.write(topic, (f"v{number}" for number in range(BEFORE)))
    log, begins = TopicPartition(topic, 0), {}
    for policy in ("earliest", "latest"):
        consumer = context.consumer(group_id=f"{topic}-{policy}", auto_offset_reset=policy)
        consumer.assign([log])
        exercised(consumer.committed(log) is None, "the group has a committed offset")
        begins[policy] = consumer.position(log, timeout_ms=10_000)
    with_none = context.consumer(group_id=f"{topic}-none", auto_offset_reset="none")
    with_none.assign([log])
    try:
        begins["none"] = with_none.position(log, timeout_ms=10_000)
    except NoOffsetForPartitionError:
        begins["none"] = "an error"
    return Answer(
        holds=begins == {"earliest": 0, "latest": BEFORE, "none": "an error"},
        seen=f"with {BEFORE} records there, groups start: "
        + ", ".join(f"{policy} at {begin}" for policy, begin in begins.items()),
        figures=begins,
    )


CLAIM = Claim(
    id="A7",
    title="auto.offset.reset",
    text="A group without a committed offset starts where auto.offset.reset says: at the first record, at the end, "
    "or not at all.",
    source="https://kafka.apache.org/documentation/#consumerconfigs_auto.offset.reset",
    cases=CURRENT,
    show=show,
)
