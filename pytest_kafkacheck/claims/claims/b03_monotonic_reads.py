"""While records are written and the leader is killed, one consumer after another reads the log to its end.

Exercised: consumers read in more than one leader epoch.
"""

from __future__ import annotations

from itertools import pairwise

from kafka import TopicPartition

from pytest_kafkacheck.claims.claim import Answer, Claim
from pytest_kafkacheck.claims.clusters import CURRENT
from pytest_kafkacheck.claims.context import ScenarioContext
from pytest_kafkacheck.claims.exercising import exercised
from pytest_kafkacheck.claims.steps import another_leader, killed

CONSUMERS = 12


def show(context: ScenarioContext) -> Answer:
    topic = context.topic(config={"min.insync.replicas": 2})
    before = context.view(topic)
    writer = context.writer(topic)
    log = TopicPartition(topic, 0)
    ends: list[int] = []

    def read_on() -> None:
        """A new consumer starts before the end of the last one, and reads until nothing comes."""
        consumer = context.consumer(topic, at=max(0, ends[-1] - 5) if ends else 0)
        context.require(lambda: any(map(len, consumer.poll(timeout_ms=500).values())), 20, "a consumer reads")
        ends.append(consumer.position(log))
        consumer.close()

    for _ in range(CONSUMERS // 3):
        read_on()
    with killed(context, before.leader):
        other = next(node for node in before.replicas if node != before.leader)
        another_leader(context, topic, before.leader, at=other)
        for _ in range(CONSUMERS // 3):
            read_on()
        epoch = context.view(topic, at=other).leader_epoch
    for _ in range(CONSUMERS - len(ends)):
        read_on()
    writer.stop()
    exercised(epoch > before.leader_epoch, "the leader epoch did not grow")
    back = sum(later < earlier for earlier, later in pairwise(ends))
    return Answer(
        holds=not back,
        seen=f"{len(ends)} consumers one after another, up to offset {ends[-1]}: {back} read less than the "
        "one before",
        figures={"consumers": len(ends), "read less than before": back},
    )


CLAIM = Claim(
    id="B3",
    title="monotonic reads at the leader",
    text="Consumers that read from leaders one after another never see less than the one before, also across a "
    "failover.",
    source="https://kafka.apache.org/documentation/#replication",
    cases=CURRENT,
    show=show,
)
