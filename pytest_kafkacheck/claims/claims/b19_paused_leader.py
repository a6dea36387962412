"""The leader stands still until another one is elected, and goes on. A client with acks=1 has sent to it meanwhile.

Exercised: values that were sent while it stood still were acknowledged after another leader had been elected.
"""

from __future__ import annotations

import time

from nemesis.faults.pause import pause
from pytest_kafkacheck.claims.claim import Answer, Claim
from pytest_kafkacheck.claims.clusters import BOTH_MODES
from pytest_kafkacheck.claims.context import ScenarioContext
from pytest_kafkacheck.claims.exercising import exercised
from pytest_kafkacheck.claims.steps import LONG_MS, another_leader

MORE = 1.0
"""Seconds for which it stands still beside another leader."""

PATIENT_MS = 20_000
"""Time-out of requests: longer than the leader stands still."""


def show(context: ScenarioContext) -> Answer:
    topic = context.topic(config={"min.insync.replicas": 1})
    leader, other, _ = context.view(topic).replicas
    writer = context.writer(
        topic,
        acks=1,
        metadata_max_age_ms=LONG_MS,
        request_timeout_ms=PATIENT_MS,
        delivery_timeout_ms=PATIENT_MS + 5000,
    )
    context.require(lambda: len(writer.acks) > 50, 15, "50 acks")
    with context.cluster.fault(pause(leader)):
        began = time.monotonic()
        elected = another_leader(context, topic, leader, at=other)
        two = time.monotonic()
        context.wait(lambda: False, MORE)
        ended = time.monotonic()
    acked = writer.stop()
    context.cluster.wait_settled()
    late = [ack for ack in acked if began <= ack.sent <= ended and ack.at > two]
    exercised(
        bool(late), "nothing that was sent while the leader stood still was acknowledged after the election"
    )
    kept = set(context.read(topic).values())
    lost = [ack for ack in late if ack.value not in kept]
    return Answer(
        holds=bool(lost),
        seen=f"another leader was elected after {elected:.1f} s; {len(late)} writes that were sent while the old one "
        f"stood still were acknowledged after that, {len(lost)} of them are lost",
        figures={
            "sent meanwhile, acknowledged": len(late),
            "lost of these": len(lost),
            "election after (s)": round(elected, 1),
        },
    )


CLAIM = Claim(
    id="B19",
    title="a leader that stood still acknowledges too late",
    text="A leader that stood still for longer than its session takes what waits in its sockets when it goes on, and "
    "acknowledges acks=1, before it learns that it was replaced: these records are lost.",
    source="https://kafka.apache.org/documentation/#producerconfigs_acks",
    cases=BOTH_MODES,
    show=show,
)
