"""The followers leave the ISR one after another, then the leader loses its disk."""

from __future__ import annotations

from nemesis.event import Event
from nemesis.faults.wipe import wipe
from pytest_kafkacheck.matrix.scenario import LEADER, Layout, Scenario
from pytest_kafkacheck.matrix.steps import REFUSES, shrink


def _faults(layout: Layout) -> list[Event]:
    cuts, alone = shrink(layout)
    return [*cuts, wipe(LEADER, at=alone, lasting=14.0)]


SCENARIO = Scenario(name="isr-of-one-wiped", faults=_faults, window=-1, refuses=REFUSES, smallest_isr=1)
