"""In which circumstances a fault began: the pairs (fault, circumstance) that a soak has seen, and those it plans.

The same fault shows other defects while another one is at work, or before all replicas are in sync again; at a
coordinator, or at the leader of a log; and while clients commit, are fenced, or acknowledge records of a queue.
"""

from __future__ import annotations

from collections.abc import Iterator

from analyzers.verdict.exercised import Exercised, FaultExercised
from nemesis.event import Event
from nemesis.fault import FAMILIES
from nemesis.registry import FAULTS
from nemesis.schedule import Schedule
from nemesis.targets import Groups, Target
from pytest_kafkacheck.cluster.spec.properties import INTERNAL_TOPICS
from pytest_kafkacheck.experiment.experiment import Experiment
from workloads.workload import Workload, client_library

Pair = tuple[str, str]
"""The name of a fault, and a circumstance: one of `STATES`, or a text that begins with one of `PREFIXES`."""

AT, UNDER, WITH = PREFIXES = ("at ", "under ", "with ")
"""What a fault was aimed at; what the clients did, by the name of what they use of their library; which library."""

IN_SYNC = "in sync"
"""No other fault is at work, and every replica is in sync."""

RECOVERING = "recovering"
"""Other faults have ended, and not every replica is in sync again."""

STATES = (IN_SYNC, RECOVERING, *(f"during {family}" for family in FAMILIES))
"""The others: a fault of that family is at work."""

RECOVERY = 5.0
"""Seconds after a fault that takes nodes down in which a plan expects the cluster to be recovering."""


def planned(experiment: Experiment) -> frozenset[Pair]:
    """The pairs that an experiment will probably show."""
    schedule, clients = experiment.schedule, of_clients(experiment.workload)
    return frozenset(
        (event.fault.name, circumstance)
        for event in schedule.events
        for circumstance in (*_expected(event, schedule), *aimed_at(event.target), *clients)
    )


def seen(exercised: Exercised, workload: Workload) -> frozenset[Pair]:
    """The pairs that a run has shown: all faults of a pair were effective."""
    clients = of_clients(workload)
    return frozenset(
        (fault.fault, circumstance)
        for fault in exercised.faults
        if fault.effective and fault.began is not None
        for circumstance in (*_observed(fault, exercised), *_aimed_at(fault.target), *clients)
    )


def aimed_at(target: Target | Groups) -> Iterator[str]:
    """The role that the target has in the cluster, or for the clients; none for all others."""
    if isinstance(target, Groups):
        return
    if target.topic in INTERNAL_TOPICS:
        yield f"{AT}{target.topic}"
    elif target.kind in ROLES:
        yield f"{AT}{ROLES[target.kind]}"


def of_clients(workload: Workload) -> tuple[str, ...]:
    """What they do, and with which library."""
    used = sorted(workload.declaration.capabilities(workload))
    return (*(f"{UNDER}{each}" for each in used), f"{WITH}{client_library(workload)}")


ROLES = {
    "leader": "a leader",
    "follower": "a follower",
    "controller": "the controller",
    "coordinator": "a group's coordinator",
    "transaction-coordinator": "a transaction's coordinator",
}
"""By kind of target. A coordinator is the leader of a partition of an internal topic."""


def _aimed_at(target: str) -> Iterator[str]:
    try:
        parsed = Target.parse(target)
    except ValueError:  # groups of nodes
        return
    yield from aimed_at(parsed)


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
