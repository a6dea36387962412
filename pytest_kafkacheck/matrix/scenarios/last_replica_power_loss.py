"""The followers are stopped one after another, and the leader loses power; it is started last."""

from __future__ import annotations

from nemesis.event import Event
from nemesis.faults.power_loss import power_loss
from nemesis.faults.stop import stop
from pytest_kafkacheck.matrix.scenario import LEADER, Layout, Scenario

APART = 3.0
"""Seconds between two stops: records that only the others get are written meanwhile."""

DOWN = 4.0
"""Seconds for which nothing is up."""

BEFORE = 8.0
"""Seconds by which the followers are up before the leader: time for an election, where one may take place."""


def _faults(layout: Layout) -> list[Event]:
    stops = [(1.0 + APART * number, node) for number, node in enumerate(layout.followers)]
    alone = 1.0 + APART * len(stops)
    return [
        *(stop(node, at=at, lasting=alone + DOWN - at) for at, node in stops),
        power_loss(LEADER, at=alone, lasting=DOWN + BEFORE),
    ]


SCENARIO = Scenario(name="last-replica-power-loss", faults=_faults, smallest_isr=1, disks=True, controllers=1)
