"""Two of three controllers are killed under load; then a broker is killed that follows in one partition and leads
another one.

Exercised: the cluster had no controller, and the broker was dead for longer than its session lasts otherwise, and
than the ISR needs to shrink.
"""

from __future__ import annotations

import time

from pytest_kafkacheck.claims.claim import Answer, Case, Claim
from pytest_kafkacheck.claims.clusters import CONTROLLERS_APART
from pytest_kafkacheck.claims.context import ScenarioContext
from pytest_kafkacheck.claims.exercising import exercised
from pytest_kafkacheck.claims.steps import killed

WITHOUT = 4.5
"""Seconds with all brokers, and then with one killed. With a quorum its session ends, and the ISR shrinks, within
3.5 s."""


def show(context: ScenarioContext) -> Answer:
    leader, other, third = context.brokers
    topic = context.topic((leader, other, third), (third, other, leader), config={"min.insync.replicas": 2})
    writer, reader = context.writer(topic, delivery_timeout_ms=60_000), context.reader(topic)
    context.require(lambda: min(len(writer.acks), len(reader.times)) > 50, 15, "50 records written and read")
    with killed(context, 101, 102):
        began = time.monotonic()
        context.wait(lambda: False, WITHOUT)
        in_between = time.monotonic()
        with killed(context, third):
            dead = time.monotonic()
            context.wait(lambda: False, WITHOUT)
            isr, still = context.view(topic, at=leader).isr, context.view(topic, 1, at=leader).leader
            stuck = writer.count(dead, time.monotonic())
            acks, again = len(writer.acks), len(context.read(topic))
            controller = context.cluster.controller()
    written, read = writer.count(began, in_between), reader.count(began, in_between)
    exercised(controller is None, f"{controller} is the controller without a quorum")
    context.require(lambda: context.cluster.controller() is not None, 30, "a controller is back")
    acked = writer.stop()
    kept = set(context.read(topic).values())
    lost = sum(ack.value not in kept for ack in acked)
    unchanged = len(isr) == 3 and still == third
    return Answer(
        holds=min(written, read) > 100 and unchanged and not stuck and again >= acks and not lost,
        seen=f"without a quorum {written} writes were acknowledged and {read} records read in {WITHOUT:g} s. After "
        f"broker {third} was killed {stuck} writes were: the ISR stayed {list(isr)}, the leader of its partition "
        f"{still}, and a new consumer read {again} records; {lost} lost",
        figures={
            "acks without quorum": written,
            "reads without quorum": read,
            "acks with a broker away": stuck,
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
