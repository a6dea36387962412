"""The leader is killed a second after its followers stopped getting records: by Kafka's rules they are in sync."""

from __future__ import annotations

from nemesis.event import Event
from nemesis.faults.kill import kill
from pytest_kafkacheck.matrix.scenario import LEADER, Layout, Scenario
from pytest_kafkacheck.matrix.steps import lag

KILLED = 12.0
"""Seconds. An election takes 3 s, and 5 s where the leader was the active controller as well."""


def _faults(layout: Layout) -> list[Event]:
    return [*lag(layout, at=1.0), kill(LEADER, at=2.0, lasting=KILLED)]


SCENARIO = Scenario(name="leader-killed", faults=_faults, window=-1)
