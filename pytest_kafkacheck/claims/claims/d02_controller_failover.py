"""The active controller is killed under load; it is no broker.

Exercised: another controller took over.
"""

from __future__ import annotations

import time

from nemesis.faults.kill import kill
from pytest_kafkacheck.claims.claim import Answer, Case, Claim
from pytest_kafkacheck.claims.clusters import CONTROLLERS_APART
from pytest_kafkacheck.claims.context import ScenarioContext

LONGEST = 1.0
"""Seconds without an acknowledgement that count as "goes on", on a busy machine."""


def show(context: ScenarioContext) -> Answer:
    topic = context.topic(config={"min.insync.replicas": 2})
    writer = context.writer(topic)
    context.require(lambda: len(writer.acks) > 50, 15, "50 acks")
    before = context.cluster.controller()
    assert before is not None
    began = time.monotonic()
    with context.cluster.fault(kill(before)):
        context.require(lambda: context.cluster.controller() not in (None, before), 20, "another controller")
        took = time.monotonic() - began
        gap = writer.longest_gap(since=began)
    acked = writer.stop()
    kept = set(context.read(topic).values())
    lost = sum(ack.value not in kept for ack in acked)
    return Answer(
        holds=gap < LONGEST and not lost,
        seen=f"another controller after {took:.1f} s; no acknowledgement for {gap:.2f} s at most, {lost} lost",
        figures={
            "new controller after (s)": round(took, 1),
            "longest wait for an ack (s)": round(gap, 2),
            "lost": lost,
        },
    )


CLAIM = Claim(
    id="D2",
    title="controller failover",
    text="When the active controller fails, another one takes over by itself, and reads and writes go on meanwhile.",
    source="https://cwiki.apache.org/confluence/display/KAFKA/KIP-500%3A+Replace+ZooKeeper+with+a+Self-Managed+"
    "Metadata+Quorum",
    cases=(Case(name="4.1.1 controllers apart", cluster=CONTROLLERS_APART),),
    show=show,
)
