"""A client writes a record, and looks for it with a consumer that is there already, 60 times; the leader is
killed meanwhile.

Exercised: records were written and read by two leaders.
"""

from __future__ import annotations

from kafka import TopicPartition

from pytest_kafkacheck.claims.claim import Answer, Claim
from pytest_kafkacheck.claims.clusters import CURRENT
from pytest_kafkacheck.claims.context import ScenarioContext
from pytest_kafkacheck.claims.exercising import exercised
from pytest_kafkacheck.claims.steps import killed

WRITES = 20
"""Before the kill, after it, and after the return of the broker."""


def show(context: ScenarioContext) -> Answer:
    topic = context.topic(config={"min.insync.replicas": 2})
    log, before = TopicPartition(topic, 0), context.view(topic)
    producer, consumer = context.producer(), context.consumer()
    consumer.assign([log])
    missed, writes = 0, 0

    def write_and_read() -> None:
        nonlocal missed, writes
        for _ in range(WRITES):
            offset = producer.send(topic, f"v{writes}".encode(), partition=0).get(timeout=30).offset
            # The end that the leader reports is what a reader can read now.
            missed += consumer.end_offsets([log])[log] <= offset
            writes += 1

    write_and_read()
    with killed(context, before.leader):
        write_and_read()
        other = next(node for node in before.replicas if node != before.leader)
        after = context.view(topic, at=other)
    context.cluster.wait_settled()
    write_and_read()
    exercised(after.leader_epoch > before.leader_epoch, "no other leader was elected")
    return Answer(
        holds=not missed and len(context.read(topic)) >= writes,
        seen=f"{missed} of {writes} acknowledged records were not there for the reader at once, across a failover",
        figures={"writes": writes, "missed own write": missed},
    )


CLAIM = Claim(
    id="B2",
    title="read your writes at the leader",
    text="A client that reads from leaders sees its own acknowledged writes, also across a failover, with acks=all "
    "and min.insync.replicas=2.",
    source="https://kafka.apache.org/documentation/#replication",
    cases=CURRENT,
    show=show,
)
