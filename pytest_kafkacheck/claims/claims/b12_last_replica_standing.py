"""Two of three replicas are stopped one after the other, and the last one loses power; then they return, it as
the last.

Exercised: records were acknowledged, the ISR had shrunk to one replica, and power was lost with data that was not on
the disk.
"""

from __future__ import annotations

from dataclasses import replace

from pytest_kafkacheck.claims.claim import Answer, Case, Claim
from pytest_kafkacheck.claims.clusters import DISKS
from pytest_kafkacheck.claims.context import ScenarioContext
from pytest_kafkacheck.claims.last_replica import power_loss_of_the_last


def show(context: ScenarioContext) -> Answer:
    outcome = power_loss_of_the_last(context, min_insync=2)
    return Answer(
        holds=not outcome.lost,
        seen=outcome.seen,
        figures={"acknowledged": outcome.acknowledged, "lost": outcome.lost},
    )


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
