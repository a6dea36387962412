"""A broker is added under load, and after three seconds a partition is moved to it.

Exercised: the new broker serves, and the partition was moved.
"""

from __future__ import annotations

from nemesis.faults.add_broker import add_broker
from pytest_kafkacheck.claims.claim import Answer, Claim
from pytest_kafkacheck.claims.clusters import CURRENT
from pytest_kafkacheck.claims.context import ScenarioContext
from pytest_kafkacheck.claims.steps import more_acks
from pytest_kafkacheck.cluster.kafka import metadata_views

IDLE = 3.0
"""Seconds for which the new broker gets nothing."""


def show(context: ScenarioContext) -> Answer:
    topic = context.topic(config={"min.insync.replicas": 2})
    before = context.view(topic).replicas
    writer = context.writer(topic)
    known = set(context.cluster.brokers)
    with context.cluster.fault(add_broker()):
        (new,) = set(context.cluster.brokers) - known

        def replicas() -> int:
            every = metadata_views.metadata(context.cluster.brokers[new], None)
            return sum(new in view.replicas for view in every.values())

        by_itself = context.wait(lambda: replicas() > 0, IDLE)
        target = (new, *before[:2])
        context.cluster.kafka.reassign(topic, 0, target)
        moved = context.require(
            lambda: context.view(topic).replicas == target and set(context.view(topic).isr) == set(target),
            30,
            "the partition is on the new broker",
        )
        more_acks(context, writer, 20, 10, "writes after the move")
        context.cluster.kafka.reassign(topic, 0, before)
        context.require(lambda: context.view(topic).replicas == before, 30, "the partition is back")
    acked = writer.stop()
    kept = set(context.read(topic).values())
    lost = sum(ack.value not in kept for ack in acked)
    return Answer(
        holds=by_itself is None and not lost,
        seen=f"the new broker had no replica for {IDLE:g} s, and one after a reassignment of {moved:.1f} s; no "
        f"acknowledgement for {writer.longest_gap():.2f} s at most, {lost} of {len(acked)} lost",
        figures={
            "moved in (s)": round(moved, 1),
            "longest wait for an ack (s)": round(writer.longest_gap(), 2),
            "lost": lost,
        },
    )


CLAIM = Claim(
    id="D9",
    title="a new broker takes nothing by itself",
    text="A broker that joins gets no partitions by itself. A reassignment moves replicas to it while clients work.",
    source="https://kafka.apache.org/documentation/#basic_ops_cluster_expansion",
    cases=CURRENT,
    show=show,
)
