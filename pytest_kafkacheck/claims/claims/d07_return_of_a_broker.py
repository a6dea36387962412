"""A leader is stopped under load and started again; after three seconds in the ISR the preferred leader is elected.

Exercised: leadership moved at the stop, records were acknowledged that the broker lacked, and it was out of the ISR.
"""

from __future__ import annotations

import time

from pytest_kafkacheck.claims.claim import Answer, Claim
from pytest_kafkacheck.claims.clusters import CURRENT
from pytest_kafkacheck.claims.context import ScenarioContext
from pytest_kafkacheck.claims.exercising import exercised
from pytest_kafkacheck.claims.steps import another_leader, more_acks, stopped

AWAIT = 3.0
"""Seconds in the ISR without getting leadership back."""


def show(context: ScenarioContext) -> Answer:
    topic = context.topic(config={"min.insync.replicas": 2})
    first, other, _ = context.view(topic).replicas
    writer = context.writer(topic)
    context.require(lambda: len(writer.acks) > 50, 15, "50 acks")
    with stopped(context, first):
        another_leader(context, topic, first, at=other)
        before = len(writer.acks)
        more_acks(context, writer, 50, 15, "writes while it is away")
        exercised(first not in context.view(topic).isr, "the stopped broker is in the ISR")
        missed = len(writer.acks) - before
        began = time.monotonic()
    context.require(lambda: first in context.view(topic).isr, 30, "it is in the ISR again")
    in_sync = time.monotonic() - began
    by_itself = context.wait(lambda: context.view(topic).leader == first, AWAIT)
    context.cluster.kafka.elect(topic, 0, unclean=False)
    elected = context.wait(lambda: context.view(topic).leader == first, 10)
    acked = writer.stop()
    kept = set(context.read(topic).values())
    lost = sum(ack.value not in kept for ack in acked)
    return Answer(
        holds=by_itself is None and elected is not None and not lost,
        seen=f"in the ISR {in_sync:.1f} s after its start, with {missed} records or more to catch up; leader again "
        f"{'by itself' if by_itself is not None else 'by the preferred election'}; {lost} lost",
        figures={
            "in the ISR after (s)": round(in_sync, 1),
            "elected after (s)": round(elected or 0, 2),
            "lost": lost,
        },
    )


CLAIM = Claim(
    id="D7",
    title="a broker returns",
    text="A broker that returns catches up and is in the ISR again. It gets its leaderships back only by a preferred "
    "election, which auto.leader.rebalance.enable=false leaves to people.",
    source="https://kafka.apache.org/documentation/#basic_ops_leader_balancing",
    cases=CURRENT,
    show=show,
)
