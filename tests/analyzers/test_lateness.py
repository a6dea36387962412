"""What began after its time is told."""

from __future__ import annotations

import json
from types import SimpleNamespace
from typing import Any

import pytest

from analyzers.history.fault_events import LATE, fault_events, lateness


def row(stage: str, *, late: int, **more: Any) -> Any:
    planned = 10**9
    value = {
        "event": "kill-0", "stage": stage, "target": "leader", "nodes": [2], "effective": True, "planned": planned,
    }  # fmt: skip
    invoked = planned + late
    return SimpleNamespace(
        op=1, f="kill", invoked=invoked, completed=invoked + 1, value=json.dumps(value | more)
    )


def test_an_injection_and_a_heal_after_their_time_are_told() -> None:
    events = fault_events([row("inject", late=LATE + 10**8), row("heal", late=15_700_000_000)])
    assert list(lateness(events)) == [
        "The fault kill leader (kill-0) was injected 0.6 s after its time.",
        "The fault kill leader (kill-0) was healed 15.7 s after its time.",
    ]


def test_small_delays_and_actions_without_a_time_are_not_told() -> None:
    events = fault_events([row("inject", late=LATE), row("heal", late=10**12, planned=None)])
    assert list(lateness(events)) == []


def test_a_time_that_is_no_number_is_refused() -> None:
    with pytest.raises(ValueError, match="planned: expected a number, got '1'"):
        fault_events([row("heal", late=0, planned="1")])
