"""Which smaller experiments are tried, and in which order."""

from __future__ import annotations

import pytest_kafkacheck as api
from pytest_kafkacheck.cluster.spec.spec import ClusterSpec
from pytest_kafkacheck.experiment.experiment import Experiment
from pytest_kafkacheck.shrink.candidate import ExperimentCandidate
from workloads.append_log import AppendLog


def test_everything_that_can_be_smaller_is_tried() -> None:
    start = ExperimentCandidate(
        Experiment(
            workload=AppendLog(partitions=1, assignment={0: (1, 2, 3)}),
            faults=[api.kill("leader", lasting=1)],
            cluster=ClusterSpec(brokers=5, controllers=3),
        )
    )
    assert [why for why, _ in start.simpler()] == [
        "a layout of Kafka's choice",
        "3 brokers",
        "1 controllers",
        "one producer and no other clients",
        "1 producers",
        "0 readers",
        "0 sessions",
        "cooldown of 1 s",
    ]


def test_nodes_that_a_target_needs_are_kept() -> None:
    start = ExperimentCandidate(
        Experiment(
            workload=AppendLog(partitions=1, assignment={0: (1, 2, 3)}),
            faults=[api.kill(4, lasting=1), api.kill_client("session", lasting=1)],
            cluster=ClusterSpec(brokers=5),
        )
    )
    assert [why for why, _ in start.simpler()] == ["1 producers", "0 readers", "cooldown of 1 s"]
