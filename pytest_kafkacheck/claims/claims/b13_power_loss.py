"""All brokers lose power at the same moment; one topic has the default settings, another one flush.messages=1.

Exercised: power was lost with data that was not on the disk.
"""

from __future__ import annotations

from nemesis.faults.power_loss import power_loss
from pytest_kafkacheck.claims.claim import Answer, Case, Claim
from pytest_kafkacheck.claims.clusters import DISKS
from pytest_kafkacheck.claims.context import ScenarioContext

RECORDS = 200


def show(context: ScenarioContext) -> Answer:
    default = context.topic(config={"min.insync.replicas": 2})
    flushed = context.topic(config={"min.insync.replicas": 2, "flush.messages": 1})
    written = [f"v{number}" for number in range(RECORDS)]
    for topic in (flushed, default):
        context.write(topic, written)
    brokers = ",".join(map(str, context.cluster.brokers))
    with context.cluster.fault(power_loss(brokers)):
        pass
    context.cluster.wait_settled()
    lost = {topic: RECORDS - len(set(context.read(topic).values())) for topic in (default, flushed)}
    return Answer(
        holds=lost[default] > 0 and not lost[flushed],
        seen=f"of {RECORDS} acknowledged records each, {lost[default]} are lost with default settings, "
        f"{lost[flushed]} with flush.messages=1",
        figures={"lost by default": lost[default], "lost with flush.messages=1": lost[flushed]},
    )


CLAIM = Claim(
    id="B13",
    title="nothing is synced before its acknowledgement",
    text="Records are acknowledged before they are on a disk. A power loss of all replicas at once loses "
    "acknowledged records, with acks=all as well, unless flush.messages=1.",
    source="https://kafka.apache.org/documentation/#design_replicamanagment",
    cases=(Case(name="4.1.1 disks", cluster=DISKS),),
    show=show,
)
