"""Two replicas lead one after the other without each other's records, by unclean elections (KIP-279).

Exercised: each of the two wrote records that the other one did not have.
"""

from __future__ import annotations

from nemesis.faults.partition import partition
from pytest_kafkacheck.claims import replicas
from pytest_kafkacheck.claims.claim import Answer, Case, Claim
from pytest_kafkacheck.claims.context import ScenarioContext
from pytest_kafkacheck.cluster.spec.spec import ClusterSpec

BEFORE = 10


def show(context: ScenarioContext) -> Answer:
    nodes = context.cluster.nodes
    controller, first, second = context.brokers
    topic = context.topic((first, second), config={"unclean.leader.election.enable": True})
    producer = context.producer(enable_idempotence=False, acks=1)

    def write(prefix: str, count: int) -> None:
        for number in range(count):
            producer.send(topic, f"{prefix}{number}".encode(), partition=0).get(timeout=20)

    def leads(node: int) -> None:
        context.require(
            lambda: context.view(topic, at=controller).leader == node, 20, f"broker {node} is the leader"
        )

    write("both", BEFORE)
    context.require(lambda: context.end(topic, second) == BEFORE, 10, "both have the first records")
    with context.cluster.fault(partition([[first], [second]], plane="replication")):
        write("first", 2)
        context.require(lambda: context.view(topic, at=first).isr == (first,), 15, "the ISR shrinks")
        nodes[first].kill()
        leads(second)
        write("second", 5)
        nodes[second].kill()
        leads(-1)
        nodes[first].start()
        leads(first)
    write("again", 5)
    nodes[second].start()
    context.cluster.wait_settled()
    context.require(
        lambda: context.marks(topic, second).high_watermark == context.end(topic, first),
        20,
        "equal high watermarks",
    )
    found = replicas.compared(context.cluster, topic, (first, second), end=context.end(topic, first))
    return Answer(
        holds=not found.different,
        seen=f"both replicas are in the ISR, and {found.different} of {found.records + found.different} offsets have "
        "different records",
        figures={"records": found.records + found.different, "different": found.different},
    )


def _cases(version: str) -> tuple[Case, Case]:
    old = {"inter.broker.protocol.version": "1.1", "log.message.format.version": "1.1"}
    return (
        Case(name=f"{version} ZooKeeper", cluster=ClusterSpec(version=version, zookeepers=1)),
        Case(
            name=f"{version} with the protocol of 1.1",
            cluster=ClusterSpec(version=version, zookeepers=1, config=old),
            expected="refuted",
            why="before KIP-279 a follower that asked for an epoch that the leader never had got the end of a later "
            "one (KAFKA-6361)",
        ),
    )


CLAIM = Claim(
    id="C10",
    title="no divergence after fast failovers",
    text="Replicas in the ISR never hold different records at one offset: a replica that returns truncates what the "
    "leader does not have, also after several failovers in a row.",
    source="https://cwiki.apache.org/confluence/display/KAFKA/KIP-279%3A+Fix+log+divergence+between+leader+and+"
    "follower+after+fast+leader+fail+over",
    cases=(*_cases("3.9.2"), *_cases("2.8.2")),
    show=show,
)
