"""A replica's broker is killed under load. While it is away the partition is moved off it, the topic gets more
partitions, and another topic is created and deleted.

Exercised: the broker was away until all of it was done, and writes went on.
"""

from __future__ import annotations

import time

from pytest_kafkacheck.claims.claim import Answer, Claim
from pytest_kafkacheck.claims.clusters import CURRENT
from pytest_kafkacheck.claims.context import ScenarioContext
from pytest_kafkacheck.claims.exercising import exercised
from pytest_kafkacheck.claims.steps import killed, more_acks
from pytest_kafkacheck.cluster.kafka import topics

PARTITIONS = 3


def show(context: ScenarioContext) -> Answer:
    cluster = context.cluster
    first, second, third = context.brokers
    # In ZooKeeper mode the first one is the controller, and in KRaft mode the last one: neither is killed.
    topic, other = context.topic((first, second)), f"{first}-{time.monotonic_ns()}"
    writer = context.writer(topic)
    context.require(lambda: len(writer.acks) > 20, 15, "writes are acknowledged")
    target = (first, third)
    with killed(context, second):
        began = time.monotonic()
        cluster.kafka.reassign(topic, 0, target)
        cluster.kafka.add_partitions(topic, PARTITIONS)
        topics.create(cluster.brokers, other, assignment={0: target})
        context.require(
            lambda: context.view(other, at=first).leader == first, 20, "the new topic has a leader"
        )
        topics.delete(cluster.brokers, other)
        context.require(
            lambda: (
                context.view(topic, at=first).replicas == target
                and set(context.view(topic, at=first).isr) == set(target)
                and context.view(topic, PARTITIONS - 1, at=first).leader >= 0
            ),
            30,
            "the partition is moved, and the new ones have leaders",
        )
        took = time.monotonic() - began
        more_acks(context, writer, 20, 15, "writes go on")
        exercised(cluster.nodes[second].state() == "stopped", "the broker runs again")
    acked = writer.stop()
    cluster.wait_settled()
    kept = set(context.read(topic).values())
    lost = sum(ack.value not in kept for ack in acked)
    return Answer(
        holds=not lost,
        seen=f"everything was done {took:.1f} s after the kill, {lost} of {len(acked)} acknowledged records are lost",
        figures={"done after (s)": round(took, 1), "acknowledged": len(acked), "lost": lost},
    )


CLAIM = Claim(
    id="D8",
    title="administration under faults",
    text="Topics are created and deleted, get more partitions, and move to other brokers although a broker is "
    "away, and no record is lost.",
    source="https://kafka.apache.org/documentation/#basic_ops_cluster_expansion",
    cases=CURRENT,
    show=show,
)
