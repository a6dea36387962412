"""All brokers of the leader's rack lose power at the same moment."""

from __future__ import annotations

from nemesis.event import Event
from nemesis.faults.power_loss import power_loss
from pytest_kafkacheck.matrix.scenario import LEADER, Layout, Scenario
from pytest_kafkacheck.matrix.steps import lag


def _faults(layout: Layout) -> list[Event]:
    rack = ",".join(str(node) for node in range(LEADER, LEADER + layout.in_rack))
    return [*lag(layout, at=1.0), power_loss(rack, at=2.0, lasting=12.0)]


SCENARIO = Scenario(name="rack-lost", faults=_faults, window=-1, disks=True, controllers=1)
