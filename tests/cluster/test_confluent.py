"""Experiments with confluent-kafka on real brokers: valid where nothing is lost, and invalid where writes are."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

import pytest_kafkacheck as api
from pytest_kafkacheck.experiment.experiment import Experiment
from pytest_kafkacheck.experiment.harness import Harness
from workloads.append_log import AppendLog

pytestmark = pytest.mark.cluster


@pytest.fixture(scope="module")
def harness(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Harness]:
    with Harness(tmp_path_factory.mktemp("runs")) as harness:
        yield harness


def test_a_healthy_cluster_is_valid(harness: Harness) -> None:
    """With a session that reads its own writes and a leader that changes meanwhile."""
    workload = AppendLog(
        library="confluent-kafka", partitions=2, rate=500, topic_config={"min.insync.replicas": 2}
    )
    run = harness.run(Experiment(workload=workload, faults=[api.kill("leader", at=1, lasting=2)], cooldown=1))
    assert run.verdict.result == "valid", run.verdict


def test_writes_that_an_isolated_leader_acknowledged_alone_are_lost(harness: Harness) -> None:
    workload = AppendLog(
        library="confluent-kafka",
        acks=1,
        partitions=1,
        rate=500,
        topic_config={"min.insync.replicas": 1},
    )
    run = harness.run(
        Experiment(workload=workload, faults=[api.isolate("leader", at=1, lasting=8)], cooldown=1)
    )
    assert run.verdict.result == "invalid", run.verdict
    assert "lost-write" in {finding.anomaly for finding in run.verdict.findings}
