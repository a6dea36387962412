"""Groups read a topic that has records, each with another value of auto.offset.reset: new groups, groups whose
committed offsets were removed, as those that expire are (F6), and groups whose committed offset is below the log
start.

Exercised: new groups and those whose offsets were removed have no committed offset, and the others have one that the
log does not hold any more.
"""

from __future__ import annotations

from kafka import TopicPartition
from kafka.errors import NoOffsetForPartitionError, OffsetOutOfRangeError
from kafka.structs import OffsetAndMetadata

from pytest_kafkacheck.claims.claim import Answer, Claim
from pytest_kafkacheck.claims.clusters import CURRENT
from pytest_kafkacheck.claims.context import ScenarioContext, offsets
from pytest_kafkacheck.claims.exercising import exercised
from pytest_kafkacheck.cluster.kafka.admin import admin_client

BEFORE, COMMITTED, START = 20, 5, 10
"""Records; the committed offset of a group; the log start after records were deleted."""

POLICIES = ("earliest", "latest", "none")
AN_ERROR = "an error"

NEW, REMOVED, TOO_LOW = "new group", "removed offset", "offset below the log start"
"""What a group has committed."""

Begins = dict[str, int | str]
"""Where a group began to read, by policy."""


def show(context: ScenarioContext) -> Answer:
    topic = context.topic()
    log = TopicPartition(topic, 0)
    context.write(topic, (f"v{number}" for number in range(BEFORE)))
    for kind in (REMOVED, TOO_LOW):
        for policy in POLICIES:
            committing = context.consumer(group_id=_group(topic, kind, policy))
            committing.assign([log])
            committing.commit({log: OffsetAndMetadata(COMMITTED, "", -1)})
    with admin_client(context.cluster.brokers) as client:
        client.delete_groups([_group(topic, REMOVED, policy) for policy in POLICIES])
    found = {kind: _begins(context, topic, kind) for kind in (NEW, REMOVED)}
    context.cluster.kafka.delete_records(topic, 0, START)
    found[TOO_LOW] = _begins(context, topic, TOO_LOW)
    end = BEFORE + len(found)
    expected = {
        kind: {"earliest": start, "latest": last, "none": AN_ERROR}
        for kind, start, last in (
            (NEW, 0, BEFORE),
            (REMOVED, 0, BEFORE + 1),
            (TOO_LOW, START, BEFORE + 2),
        )
    }
    exercised(len(context.read(topic)) == end - START, f"the log has other records than {START} to {end}")
    texts = {
        kind: ", ".join(f"{policy}: {begin}" for policy, begin in each.items())
        for kind, each in found.items()
    }
    return Answer(
        holds=found == expected,
        seen="; ".join(f"{kind}: groups began with {text}" for kind, text in texts.items()),
        figures=texts,
    )


def _group(topic: str, kind: str, policy: str) -> str:
    return f"{topic}-{kind}-{policy}"


def _begins(context: ScenarioContext, topic: str, kind: str) -> Begins:
    """The offset of the first record that each group gets. Writes a record for the one that begins at the end."""
    log = TopicPartition(topic, 0)
    consumers, begins = {}, Begins()
    for policy in POLICIES:
        consumer = context.consumer(group_id=_group(topic, kind, policy), auto_offset_reset=policy)
        consumer.assign([log])
        committed = consumer.committed(log)
        exercised((committed is None) == (kind != TOO_LOW), f"{kind}: {committed} is committed")
        consumers[policy] = consumer
    last = consumers["latest"]

    def is_at_the_end() -> bool:
        return not last.poll(timeout_ms=100) and bool(last.position(log, timeout_ms=1000) >= BEFORE)

    context.require(is_at_the_end, 10, "the consumer is at the end")
    context.write(topic, [f"after {kind}"])
    for policy, consumer in consumers.items():
        try:
            begins[policy] = offsets(consumer, count=1, limit=10)[0]
        except (NoOffsetForPartitionError, OffsetOutOfRangeError):
            begins[policy] = AN_ERROR
    return begins


CLAIM = Claim(
    id="A7",
    title="auto.offset.reset",
    text="A group without a committed offset, or with one that the log does not hold, starts where auto.offset.reset "
    "says: at the first record, at the end, or not at all.",
    source="https://kafka.apache.org/documentation/#consumerconfigs_auto.offset.reset",
    cases=CURRENT,
    show=show,
)
