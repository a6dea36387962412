"""Scenarios on real brokers: by day one, on the cluster of all tests; each night all of them."""

from __future__ import annotations

import pytest

from pytest_kafkacheck.claims.claim import Scenario, all_scenarios
from pytest_kafkacheck.claims.run import by_cluster, run_once, show
from pytest_kafkacheck.claims.selection import selected
from pytest_kafkacheck.cluster.docker.cluster import DockerCluster
from pytest_kafkacheck.experiment.experiment import Experiment
from pytest_kafkacheck.experiment.harness import Harness
from pytest_kafkacheck.run import Run

pytestmark = pytest.mark.cluster


def no_experiment(_: Experiment) -> Run:
    raise AssertionError("this scenario runs no experiment")


def test_one_scenario(cluster: DockerCluster) -> None:
    (scenario,) = selected(all_scenarios(), "B7 and 4.1.1")
    assert scenario.case.cluster == cluster.spec
    shown = show(scenario.claim, cluster, run=no_experiment)
    assert shown.outcome == "confirmed", shown.seen


@pytest.mark.nightly
@pytest.mark.parametrize("scenario", by_cluster(all_scenarios()), ids=lambda scenario: scenario.name)
def test_every_scenario(harness: Harness, scenario: Scenario) -> None:
    shown = run_once(harness, scenario)
    assert shown.outcome == scenario.case.expected, shown.seen
