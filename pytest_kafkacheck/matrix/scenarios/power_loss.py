"""All brokers lose power at the same moment."""

from __future__ import annotations

from nemesis.event import Event
from nemesis.faults.power_loss import power_loss
from pytest_kafkacheck.matrix.scenario import Layout, Scenario


LASTING = 6.0
"""Seconds. Three disks are stopped and counted one after another; on a busy machine 3 s did not suffice for the proof."""


def _faults(_: Layout) -> list[Event]:
    return [power_loss("all", at=4.0, lasting=LASTING)]


SCENARIO = Scenario(name="power-loss", faults=_faults, disks=True)
