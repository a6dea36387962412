"""Two of three replicas are stopped one after the other, and the last one loses power; then they return, it as
the last.

Exercised: records were acknowledged, the ISR had shrunk to one replica, and power was lost with data that was not on
the disk.
"""

from __future__ import annotations

from dataclasses import replace

from nemesis.faults.power_loss import power_loss
from pytest_kafkacheck.claims.claim import Answer, Case, Claim
from pytest_kafkacheck.claims.clusters import DISKS
from pytest_kafkacheck.claims.context import ScenarioContext

RECORDS = 100
AHEAD = 5.0
"""Seconds for which the other replicas are up before the last one returns: time for an election, where one is
allowed."""


def show(context: ScenarioContext) -> Answer:
    nodes = context.cluster.nodes
    topic = context.topic(config={"min.insync.replicas": 2})
    last, second, first = context.view(topic).replicas
    context.write(topic, (f"all{number}" for number in range(RECORDS)))
    nodes[first].stop()
    context.require(lambda: len(context.view(topic, at=last).isr) == 2, 20, "the ISR shrinks to two")
    context.write(
        topic, (f"two{number}" for number in range(RECORDS)), bootstrap_servers=_reach(context, last)
    )
    nodes[second].stop()
    context.require(lambda: context.view(topic, at=last).isr == (last,), 20, "the ISR shrinks to one")
    with context.cluster.fault(power_loss(last)):
        nodes[second].start()
        nodes[first].start()
        context.wait(lambda: False, AHEAD)
        context.wait(lambda: context.cluster.serving(second), 30)
        ahead = context.view(topic, at=second).leader
    context.cluster.wait_settled()
    kept = set(context.read(topic).values())
    written = {f"{name}{number}" for name in ("all", "two") for number in range(RECORDS)}
    lost = len(written - kept)
    return Answer(
        holds=not lost,
        seen=f"{lost} of {len(written)} acknowledged records are lost; before the last replica returned, "
        f"{f'broker {ahead} led' if ahead in (first, second) else 'there was no leader'}",
        figures={"acknowledged": len(written), "lost": lost},
    )


def _reach(context: ScenarioContext, node: int) -> list[str]:
    address = context.cluster.brokers[node]
    return [f"{address.host}:{address.port}"]


def _cases(version: str) -> tuple[Case, Case]:
    disks = replace(DISKS, version=version)
    return (
        Case(name=f"{version} ELR on", cluster=disks),
        Case(
            name=f"{version} ELR off",
            cluster=replace(disks, features={"eligible.leader.replicas.version": 0}),
            expected="refuted",
            why="without eligible leader replicas only the last member of the ISR may lead, and the others truncate "
            "to what it still has",
        ),
    )


CLAIM = Claim(
    id="B12",
    title="last replica standing",
    text="With acks=all and min.insync.replicas=2 acknowledged records survive when the last replica in the "
    "ISR loses data that was not on its disk.",
    source="https://cwiki.apache.org/confluence/display/KAFKA/KIP-966%3A+Eligible+Leader+Replicas",
    cases=(*_cases("4.1.1"), *_cases("4.3.0")),
    show=show,
)
