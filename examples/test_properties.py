"""hypothesis draws configurations, and finds the simplest one that loses acknowledged writes."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import HealthCheck, Phase, find, settings

from pytest_kafkacheck import AppendLog, Experiment, isolate
from pytest_kafkacheck.strategies import configurations

pytestmark = [pytest.mark.cluster, pytest.mark.spark, pytest.mark.nightly]


@pytest.mark.timeout(1800)
def test_the_simplest_configuration_that_loses_writes(kafkacheck: Any) -> None:
    shown: dict[str, bool] = {}

    def loses(configuration: dict[str, Any]) -> bool:
        """hypothesis asks again for what it has drawn before."""
        key = str(configuration)
        if key not in shown:
            workload = AppendLog(partitions=1, rate=300, **configuration)
            faults = [isolate("leader", at=3, lasting=8)]
            shown[key] = kafkacheck(Experiment(workload=workload, faults=faults)).verdict.result == "invalid"
        return shown[key]

    found = find(
        configurations(),
        loses,
        settings=settings(
            max_examples=20,
            deadline=None,
            database=None,
            phases=[Phase.generate, Phase.shrink],
            suppress_health_check=list(HealthCheck),
        ),
    )
    # Whatever the topic says: an answer after the leader's own write promises nothing.
    assert found == {
        "acks": 1,
        "topic_config": {"min.insync.replicas": 2, "unclean.leader.election.enable": False},
    }
