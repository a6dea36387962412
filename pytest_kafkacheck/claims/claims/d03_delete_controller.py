"""Under load, /controller is deleted in ZooKeeper five times.

Exercised: the controller epoch grew each time.
"""

from __future__ import annotations

import time

from pytest_kafkacheck.claims.claim import Answer, Case, Claim
from pytest_kafkacheck.claims.clusters import OLDEST, ZOOKEEPER
from pytest_kafkacheck.claims.context import ScenarioContext

DELETIONS = 5
LONGEST = 1.0
"""Seconds without an acknowledgement that count as "goes on", on a busy machine."""


def show(context: ScenarioContext) -> Answer:
    kafka = context.cluster.kafka
    topic = context.topic(config={"min.insync.replicas": 2})
    writer = context.writer(topic)
    context.require(lambda: len(writer.acks) > 50, 15, "50 acks")
    first = before = kafka.controller_epoch()
    began = time.monotonic()
    times = []
    for _ in range(DELETIONS):
        kafka.delete_controller()
        times.append(
            context.require(
                lambda before=before: (
                    kafka.controller_epoch() > before  # type: ignore[misc]
                    and context.cluster.controller() is not None
                ),
                15,
                "a new controller epoch",
            )
        )
        before = kafka.controller_epoch()
    gap = writer.longest_gap(since=began)
    acked = writer.stop()
    kept = set(context.read(topic).values())
    lost = sum(ack.value not in kept for ack in acked)
    return Answer(
        holds=before - first == DELETIONS and gap < LONGEST and not lost,
        seen=f"{DELETIONS} deletions, {before - first} controller epochs; no acknowledgement for {gap:.2f} s at "
        f"most, {lost} lost",
        figures={
            "slowest election (s)": round(max(times), 2),
            "longest wait for an ack (s)": round(gap, 2),
            "lost": lost,
        },
    )


CLAIM = Claim(
    id="D3",
    title="deleting /controller elects again",
    text="In ZooKeeper mode the first broker to create /controller is the controller. Deleting the node makes the "
    "brokers elect again, without a restart and without a pause for clients.",
    source="https://cwiki.apache.org/confluence/display/KAFKA/Kafka+Controller+Internals",
    cases=(
        Case(name="3.9.2 ZooKeeper", cluster=ZOOKEEPER),
        Case(name="2.8.2 ZooKeeper", cluster=OLDEST),
    ),
    show=show,
)
