"""A topic that keeps 1 MB is written, and a consumer stops after its first records.

Exercised: the log start has passed the consumer's position.
"""

from __future__ import annotations

from kafka import TopicPartition
from kafka.errors import OffsetOutOfRangeError

from pytest_kafkacheck.claims.claim import Answer, Case, Claim
from pytest_kafkacheck.claims.clusters import RETENTION
from pytest_kafkacheck.claims.context import ScenarioContext, offsets

RECORDS, READ = 4000, 10


def show(context: ScenarioContext) -> Answer:
    topic = context.topic(
        config={"retention.bytes": 1 << 20, "segment.bytes": 1 << 20, "file.delete.delay.ms": 1000}
    )
    leader = context.view(topic).leader
    producer = context.producer(linger_ms=5)
    for _ in range(READ):
        producer.send(topic, b"x" * 1000, partition=0).get(timeout=10)
    consumer, log = context.consumer(topic), TopicPartition(topic, 0)
    read = len(offsets(consumer, count=READ, limit=10))
    for _ in range(RECORDS):
        producer.send(topic, b"x" * 1000, partition=0)
    producer.flush(timeout=30)
    context.require(
        lambda: context.marks(topic, leader, near=RECORDS).log_start > 2 * READ, 20, "the log start moves"
    )
    before = context.marks(topic, leader, near=RECORDS).log_start
    consumer.seek(log, READ)
    try:
        offsets(consumer, count=1, limit=5)
        refused = False
    except OffsetOutOfRangeError:
        refused = True
    kept = context.read(topic)
    start = min(kept)
    # More may be deleted meanwhile.
    is_start = before <= start <= context.marks(topic, leader, near=RECORDS).log_start
    return Answer(
        holds=refused and is_start and len(kept) == RECORDS + READ - start,
        seen=f"{start} of {RECORDS + READ} records were deleted, {read} of them read; the position {READ} was "
        f"{'refused' if refused else 'accepted'}",
        figures={"deleted": start, "read before": read, "kept": len(kept)},
    )


CLAIM = Claim(
    id="A4",
    title="retention does not ask consumers",
    text="Brokers delete records by time or size, whether they were read or not. A position below the log start is "
    "refused.",
    source="https://kafka.apache.org/documentation/#design_consumerposition",
    cases=(Case(name="4.1.1", cluster=RETENTION),),
    show=show,
)
