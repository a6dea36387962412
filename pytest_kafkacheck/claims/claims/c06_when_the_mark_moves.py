"""The high watermark is read after each of four things: a write to the only replica, fetches of followers, an ISR
that shrinks, and an election.

Exercised: with a follower that stands still, the mark did not move before the ISR shrank.
"""

from __future__ import annotations

from nemesis.faults.pause import pause
from pytest_kafkacheck.claims.claim import Answer, Claim
from pytest_kafkacheck.claims.clusters import CURRENT
from pytest_kafkacheck.claims.context import ScenarioContext
from pytest_kafkacheck.claims.exercising import exercised

LIMIT = 2.0
"""Seconds within which the mark has to move."""


def show(context: ScenarioContext) -> Answer:
    waits: dict[str, float | None] = {}

    def mark(topic: str, node: int) -> int:
        return context.marks(topic, node).high_watermark

    single = context.topic(context.brokers[:1])
    context.produce(single, context.brokers[0], "v", acks=1)
    waits["a write"] = context.wait(lambda: mark(single, context.brokers[0]) == 1, LIMIT)

    topic = context.topic()
    leader, running, paused = context.view(topic).replicas
    context.produce(topic, leader, "v", acks=1)
    waits["fetches"] = context.wait(lambda: mark(topic, leader) == 1, LIMIT)
    with context.cluster.fault(pause(paused)):
        context.produce(topic, leader, "v", acks=1)
        context.require(
            lambda: context.end(topic, running) == 2, LIMIT, "the running follower has the record"
        )
        exercised(mark(topic, leader) == 1, "the mark moved before the ISR shrank")
        context.require(
            lambda: paused not in context.view(topic, at=leader).isr, 10, "the follower leaves the ISR"
        )
        waits["a smaller ISR"] = context.wait(lambda: mark(topic, leader) == 2, LIMIT)
    context.cluster.wait_settled()
    context.cluster.kafka.reassign(topic, 0, (running, leader, paused))
    context.require(
        lambda: context.view(topic).replicas[0] == running, 10, "the order of replicas has changed"
    )
    context.cluster.kafka.elect(topic, 0, unclean=False)
    context.require(lambda: context.view(topic).leader == running, 10, "another leader")
    waits["an election"] = context.wait(lambda: mark(topic, running) == 2, LIMIT)
    slow = [cause for cause, waited in waits.items() if waited is None]
    return Answer(
        holds=not slow,
        seen=f"the mark moved within {LIMIT:g} s after {', '.join(waits)}"
        + (f", but not after {', '.join(slow)}" if slow else ""),
        figures={
            "slowest (ms)": round(max(LIMIT if each is None else each for each in waits.values()) * 1000),
            "causes": len(waits),
        },
    )


CLAIM = Claim(
    id="C6",
    title="when the mark moves",
    text="The leader moves its high watermark on a write, on the fetch of a follower, when the ISR shrinks, and when "
    "it becomes leader.",
    source="https://kafka.apache.org/documentation/#replication",
    cases=CURRENT,
    show=show,
)
