"""The leader is cut off from all other nodes, and clients reach it."""

from __future__ import annotations

from nemesis.event import Event
from nemesis.faults.isolate import isolate
from pytest_kafkacheck.matrix.scenario import LEADER, Layout, Scenario


def _faults(_: Layout) -> list[Event]:
    return [isolate(LEADER, at=1.0, lasting=14.0)]


SCENARIO = Scenario(name="leader-isolated", faults=_faults, window=-1)
