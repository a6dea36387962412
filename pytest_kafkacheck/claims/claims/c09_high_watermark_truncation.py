"""Ten records are acknowledged by both replicas. Before the follower knows that, the leader epoch grows, and the
leader is
killed: with the protocol of Kafka 0.10 the follower first truncates to its own high watermark, and then leads
(KIP-101).

Exercised: both replicas had all records, and the follower became leader in a later epoch.
"""

from __future__ import annotations

from pytest_kafkacheck.claims.claim import Answer, Case, Claim
from pytest_kafkacheck.claims.context import ScenarioContext
from pytest_kafkacheck.claims.exercising import exercised
from pytest_kafkacheck.claims.steps import killed
from pytest_kafkacheck.cluster.spec.spec import ClusterSpec

SETTLED, NEW = 10, 10

WIDE = {
    "replica.fetch.wait.max.ms": "5000",
    "replica.lag.time.max.ms": "20000",
    "replica.socket.timeout.ms": "30000",
}
"""The time in which a follower does not know the high watermark is 5 s, and not 0.5 s as by default."""


def show(context: ScenarioContext) -> Answer:
    controller, leader, follower = context.brokers
    topic = context.topic((leader, follower), config={"min.insync.replicas": 1})
    # The protocol of 0.10 has no idempotent producers.
    producer = context.producer(enable_idempotence=False, linger_ms=200)

    # Each of these tells the follower the high watermark of the one before; then the batch comes at once.
    settled = [f"settled{number}" for number in range(SETTLED)]
    for value in settled:
        producer.send(topic, value.encode(), partition=0).get(timeout=20)
    new = [f"new{number}" for number in range(NEW)]
    futures = [producer.send(topic, value.encode(), partition=0) for value in new]
    for future in futures:
        future.get(timeout=20)
    before = context.view(topic)
    total = SETTLED + NEW
    context.require(lambda: context.end(topic, follower) == total, 1, "the follower has all records")
    mark = context.marks(topic, follower).high_watermark
    exercised(mark <= SETTLED, f"the follower knows the high watermark {mark} already")
    # The order of the replicas changes: the leader epoch grows, and the leader stays.
    context.cluster.kafka.reassign(topic, 0, (follower, leader))
    context.require(
        lambda: context.view(topic, at=follower).leader_epoch > before.leader_epoch,
        5,
        "a higher leader epoch",
    )
    with killed(context, leader):
        context.require(
            lambda: context.view(topic, at=controller).leader == follower, 20, "the follower becomes leader"
        )
    context.cluster.wait_settled()
    kept = set(context.read(topic).values())
    lost = len({*settled, *new} - kept)
    return Answer(
        holds=not lost,
        seen=f"{lost} of {total} records that both replicas had acknowledged are lost",
        figures={"acknowledged": total, "lost": lost},
    )


def _cases(version: str) -> tuple[Case, Case]:
    old = {"inter.broker.protocol.version": "0.10.2", "log.message.format.version": "0.10.2"}
    return (
        Case(name=f"{version} ZooKeeper", cluster=ClusterSpec(version=version, zookeepers=1, config=WIDE)),
        Case(
            name=f"{version} with the protocol of 0.10.2",
            cluster=ClusterSpec(version=version, zookeepers=1, config={**WIDE, **old}),
            expected="refuted",
            why="before KIP-101 a follower truncated to its own high watermark, which trails (KAFKA-1211)",
        ),
    )


CLAIM = Claim(
    id="C9",
    title="truncation by leader epoch",
    text="A record that the whole ISR has acknowledged is not lost when a follower becomes leader before it "
    "knows the high watermark: replicas truncate by leader epoch, not to their high watermark.",
    source="https://cwiki.apache.org/confluence/display/KAFKA/KIP-101+-+Alter+Replication+Protocol+to+use+Leader+"
    "Epoch+rather+than+High+Watermark+for+Truncation",
    cases=(*_cases("3.9.2"), *_cases("2.8.2")),
    show=show,
)
