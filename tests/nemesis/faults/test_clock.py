"""Faults of clocks, on the fake cluster."""

from __future__ import annotations

from pytest_kafkacheck import clock
from tests.support.fault_cases import Case, on_node

CASES: dict[str, Case] = {
    "clock": Case(
        make=lambda **t: clock(1, offset=60, **t),
        breaks=on_node("set"),
        heal=on_node("clear"),
        valid=({"offset": -60.5, "ppm": 3},),
        wrong=(
            ({}, "clock: give it an offset"),
            ({"offset": float("nan")}, "offset=nan"),
            ({"ppm": -2e6}, "clock ppm"),
        ),
    ),
}
