"""Under load the leader is killed, and its successor is cut off from its peers; then every replica is read.

Exercised: leadership moved, and records were acknowledged in more than one leader epoch.
"""

from __future__ import annotations

from nemesis.faults.isolate import isolate
from nemesis.faults.kill import kill
from pytest_kafkacheck.claims import replicas
from pytest_kafkacheck.claims.claim import Answer, Claim
from pytest_kafkacheck.claims.clusters import CURRENT
from pytest_kafkacheck.claims.context import ScenarioContext
from pytest_kafkacheck.claims.exercising import exercised
from pytest_kafkacheck.claims.steps import another_leader, more_acks


def show(context: ScenarioContext) -> Answer:
    topic = context.topic()
    before = context.view(topic)
    writer = context.writer(topic, acks=1)
    context.require(lambda: len(writer.acks) > 50, 15, "50 acks")
    for fault in (kill, isolate):
        leader = context.view(topic).leader
        with context.cluster.fault(fault(leader)):
            other = next(node for node in before.replicas if node != leader)
            another_leader(context, topic, leader, at=other)
            more_acks(context, writer, 50, 20, "50 acks in the new epoch")
        context.cluster.wait_settled()
    writer.stop()
    after = context.view(topic)
    exercised(after.leader_epoch > before.leader_epoch + 1, f"leader epoch {after.leader_epoch} at the end")
    ends = {node: context.end(topic, node) for node in after.replicas}
    context.require(
        lambda: all(context.marks(topic, node).high_watermark == max(ends.values()) for node in ends),
        10,
        "all replicas have the same high watermark",
    )
    found = replicas.compared(context.cluster, topic, after.replicas, end=max(ends.values()))
    return Answer(
        holds=not found.different and set(after.isr) == set(after.replicas),
        seen=f"{found.records} records, {after.leader_epoch - before.leader_epoch} leader epochs later: "
        f"{found.different} differ between replicas",
        figures={
            "records": found.records, "leader epochs": after.leader_epoch, "different": found.different
        },
    )  # fmt: skip


CLAIM = Claim(
    id="C11",
    title="replicas agree in the end",
    text="When all faults have ended, the replicas in the ISR have the same records at the same offsets, although a "
    "leader had taken records that were lost.",
    source="https://kafka.apache.org/documentation/#replication",
    cases=CURRENT,
    show=show,
)
