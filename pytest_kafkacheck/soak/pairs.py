"""In which state of the cluster a fault began: the pairs (fault, state) that a soak has seen, and those it plans.

The same fault shows other defects while another one is at work, or before all replicas are in sync again.
"""

from __future__ import annotations

from collections.abc import Iterator

from analyzers.verdict.exercised import Exercised, FaultExercised
from nemesis.event import Event
from nemesis.fault import FAMILIES
from nemesis.registry import FAULTS
from nemesis.schedule import Schedule

Pair = tuple[str, str]
"""The name of a fault, and one of `STATES`."""

IN_SYNC = "in sync"
"""No other fault is at work, and every replica is in sync."""

RECOVERING = "recovering"
"""Other faults have ended, and not every replica is in sync again."""

STATES = (IN_SYNC, RECOVERING, *(f"during {family}" for family in FAMILIES))
"""The others: a fault of that family is at work."""

RECOVERY = 5.0
"""Seconds after a fault that takes nodes down in which a plan expects the cluster to be recovering."""


def planned(schedule: Schedule) -> frozenset[Pair]:
    """The pairs that a schedule will probably show."""
    return frozenset(
        (event.fault.name, state) for event in schedule.events for state in _expected(event, schedule)
    )


def seen(exercised: Exercised) -> frozenset[Pair]:
    """The pairs that a run has shown: both faults were effective."""
    return frozenset(
        (fault.fault, state)
        for fault in exercised.faults
        if fault.effective and fault.began is not None
        for state in _observed(fault, exercised)
    )


def _expected(event: Event, schedule: Schedule) -> Iterator[str]:
    others = [other for other in schedule.events if other.id != event.id and other.at <= event.at]
    families = {other.fault.family for other in others if event.at < other.end}
    if families:
        yield from (f"during {family}" for family in families)
    elif any(other.fault.takes_nodes_down and event.at < other.end + RECOVERY for other in others):
        yield RECOVERING
    else:
        yield IN_SYNC


def _observed(fault: FaultExercised, exercised: Exercised) -> Iterator[str]:
    assert fault.began is not None
    others = [
        other
        for other in exercised.faults
        if other is not fault and other.effective and other.began is not None and other.began <= fault.began
    ]
    families = {_family(other.fault) for other in others if other.ended is None or fault.began < other.ended}
    if families:
        yield from (f"during {family}" for family in families)
    elif any(other.whole is None or fault.began < other.whole for other in others):
        yield RECOVERING
    else:
        yield IN_SYNC


def _family(fault: str) -> str:
    return FAULTS[fault].family
