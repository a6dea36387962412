"""The followers leave the ISR one after another, then the leader is killed."""

from __future__ import annotations

from nemesis.event import Event
from nemesis.faults.kill import kill
from pytest_kafkacheck.matrix.scenario import LEADER, Layout, Scenario
from pytest_kafkacheck.matrix.steps import REFUSES, shrink

KILLED = 14.0


def _faults(layout: Layout) -> list[Event]:
    cuts, alone = shrink(layout)
    return [*cuts, kill(LEADER, at=alone, lasting=KILLED)]


SCENARIO = Scenario(name="isr-of-one-killed", faults=_faults, window=-1, refuses=REFUSES, smallest_isr=1)
