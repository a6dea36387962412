"""All brokers with replicas lose power at the same moment."""

from __future__ import annotations

from nemesis.event import Event
from nemesis.faults.power_loss import power_loss
from pytest_kafkacheck.matrix.scenario import LEADER, Layout, Scenario

LASTING = 6.0
"""Seconds, in which the disks of three nodes are stopped and counted: on a busy machine that takes more than 3 s."""


def _faults(layout: Layout) -> list[Event]:
    # Not all brokers: one without replicas may have nothing that is not on its disk, and then proves no loss.
    nodes = ",".join(map(str, [LEADER, *layout.followers]))
    return [power_loss(nodes, at=4.0, lasting=LASTING)]


SCENARIO = Scenario(name="power-loss", faults=_faults, disks=True)
