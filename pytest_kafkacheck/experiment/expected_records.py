"""About how many records the history of a run will have, so that Spark can be warmed up for them."""

from __future__ import annotations

from pytest_kafkacheck.experiment.experiment import Experiment
from workloads.load import highest

UNLIMITED = 100_000
"""For a workload that does not say its rate."""


def expected_records(experiment: Experiment) -> int:
    """The load's seconds times its rate: for the send, for each client that may read it, and for the final read."""
    workload = experiment.workload
    rate = highest(getattr(workload, "rate", None))
    if rate is None:
        return UNLIMITED
    clients = len(workload.workers())
    producers = min(clients, getattr(workload, "producers", 1))
    ends = [event.at + event.lasting for event in experiment.schedule.events]
    seconds = max(ends, default=experiment.duration)
    seconds += experiment.warm_up + experiment.cooldown
    return int(rate * producers * seconds * (2 + clients - producers))
