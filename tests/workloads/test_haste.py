"""Probes sample more often for a while after a change."""

from __future__ import annotations

from typing import Any

import pytest

from workloads.roles import probe
from workloads.roles.probe import FAST, LASTING, Haste

ROW = {"leader": 1, "leader_epoch": 4, "isr": [1, 2], "high_watermark": 9}


@pytest.fixture
def now(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    clock = [100.0]
    monkeypatch.setattr(probe, "time", type("Clock", (), {"monotonic": lambda: clock[0]}))
    return clock


@pytest.mark.parametrize(
    "later", [None, [], [ROW | {"isr": [1]}], [ROW | {"leader": -1}], [ROW | {"leader_epoch": 5}]]
)
def test_a_change_hastens_all_samplers_for_a_while(now: list[float], later: Any) -> None:
    haste = Haste(0.2)
    haste.tell(1, [ROW])
    haste.tell(2, [ROW | {"isr": [1]}])
    haste.tell(1, [ROW | {"high_watermark": 10}])
    assert haste.interval == 0.2, "first answers, and offsets, are no changes"
    haste.tell(1, later)
    haste.tell(1, later)
    assert haste.interval == FAST
    now[0] += LASTING
    assert haste.interval == 0.2


def test_a_broker_that_stays_away_hastens_once(now: list[float]) -> None:
    haste = Haste(0.2)
    haste.tell(1, None)
    now[0] += 1
    haste.tell(1, [ROW])
    assert haste.interval == FAST, "it is back"
    haste.tell(1, None)
    now[0] += LASTING
    haste.tell(1, None)
    assert haste.interval == 0.2


def test_a_faster_probe_keeps_its_interval() -> None:
    haste = Haste(0.01)
    haste.tell(1, None)
    haste.tell(1, [ROW])
    assert haste.interval == 0.01
