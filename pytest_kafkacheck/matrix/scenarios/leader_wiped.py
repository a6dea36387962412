"""The leader loses its disk a second after its followers stopped getting records."""

from __future__ import annotations

from nemesis.event import Event
from nemesis.faults.wipe import wipe
from pytest_kafkacheck.matrix.scenario import LEADER, Layout, Scenario
from pytest_kafkacheck.matrix.steps import lag


def _faults(layout: Layout) -> list[Event]:
    return [*lag(layout, at=1.0), wipe(LEADER, at=2.0, lasting=12.0)]


SCENARIO = Scenario(name="leader-wiped", faults=_faults, window=-1)
