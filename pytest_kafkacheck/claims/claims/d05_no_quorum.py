"""Two of three controllers are killed under load; then a follower gets no records any more.

Exercised: the cluster had no controller, and the follower was out of reach for longer than the ISR otherwise needs to
shrink.
"""

from __future__ import annotations

import time

from nemesis.faults.partition import partition
from pytest_kafkacheck.claims.claim import Answer, Case, Claim
from pytest_kafkacheck.claims.clusters import CONTROLLERS_APART
from pytest_kafkacheck.claims.context import ScenarioContext
from pytest_kafkacheck.claims.exercising import exercised
from pytest_kafkacheck.claims.steps import killed

WITHOUT = 4.0
"""Seconds with all followers, and then with one cut off. The ISR shrinks within 3 s."""


def show(context: ScenarioContext) -> Answer:
    topic = context.topic(config={"min.insync.replicas": 2})
    leader, *_, follower = context.view(topic).replicas
    writer = context.writer(topic, delivery_timeout_ms=60_000)
    context.require(lambda: len(writer.acks) > 50, 15, "50 acks")
    with killed(context, 101, 102):
        began = time.monotonic()
        context.wait(lambda: False, WITHOUT)
        in_between = time.monotonic()
        with context.cluster.fault(partition([[leader], [follower]], plane="replication")):
            cut = time.monotonic()
            context.wait(lambda: False, WITHOUT)
            isr, ended = context.view(topic, at=leader).isr, time.monotonic()
            stuck = writer.count(cut + 1, ended)
        controller = context.cluster.controller()
    healthy = writer.count(began, in_between)
    exercised(controller is None, f"{controller} is the controller without a quorum")
    back = context.require(lambda: context.cluster.controller() is not None, 30, "a controller is back")
    acked = writer.stop()
    kept = set(context.read(topic).values())
    lost = sum(ack.value not in kept for ack in acked)
    return Answer(
        holds=healthy > 100 and len(isr) == 3 and not stuck and not lost,
        seen=f"without a quorum {healthy} writes were acknowledged in {WITHOUT:g} s, and {stuck} after a follower "
        f"was cut off: the ISR stayed {list(isr)}; {lost} lost",
        figures={
            "acks without quorum": healthy,
            "acks with a follower away": stuck,
            "controller after (s)": round(back, 1),
        },
    )


CLAIM = Claim(
    id="D5",
    title="no quorum, no changes",
    text="Without a quorum of controllers reads and writes go on, and there are no elections and no changes of the "
    "ISR: acks=all stops as soon as a replica in the ISR fails.",
    source="https://cwiki.apache.org/confluence/display/KAFKA/KIP-631%3A+The+Quorum-based+Kafka+Controller",
    cases=(Case(name="4.1.1 controllers apart", cluster=CONTROLLERS_APART),),
    show=show,
)
