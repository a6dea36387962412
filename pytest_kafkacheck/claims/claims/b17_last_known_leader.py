"""As B12, with min.insync.replicas=1: no replica is eligible then but the last one.

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
    outcome = power_loss_of_the_last(context, min_insync=1)
    return Answer(
        holds=outcome.lost > 0 and outcome.led is None,
        seen=outcome.seen,
        figures={"acknowledged": outcome.acknowledged, "lost": outcome.lost},
    )


CLAIM = Claim(
    id="B17",
    title="the last known leader",
    text="With min.insync.replicas=1 eligible leader replicas do not help: only the last leader may lead again, also "
    "after it has lost data, although replicas that have all records are up, and without unclean elections.",
    source="https://cwiki.apache.org/confluence/display/KAFKA/KIP-966%3A+Eligible+Leader+Replicas",
    cases=tuple(
        Case(name=f"{version} ELR on", cluster=replace(DISKS, version=version))
        for version in ("4.1.1", "4.3.0")
    ),
    show=show,
)
