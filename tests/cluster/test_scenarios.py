"""Scenarios on real brokers: by day on the cluster of all tests; each night all of them."""

from __future__ import annotations

from dataclasses import replace

import pytest

from nemesis.faults.pause import pause
from pytest_kafkacheck.claims.claim import Answer, Scenario, all_scenarios
from pytest_kafkacheck.claims.context import ScenarioContext
from pytest_kafkacheck.claims.run import by_cluster, run_once, show
from pytest_kafkacheck.claims.selection import selected
from pytest_kafkacheck.cluster.docker.cluster import DockerCluster
from pytest_kafkacheck.cluster.kafka import metadata_views
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


def test_a_claim_that_raises_leaves_a_healthy_cluster(cluster: DockerCluster) -> None:
    created: list[str] = []

    def mistaken(context: ScenarioContext) -> Answer:
        created.append(context.topic())
        writer = context.writer(created[0])
        with context.cluster.fault(pause(str(context.brokers[0]))):
            return Answer(holds=len(writer.acks) / 0 > 1, seen="")

    (scenario,) = selected(all_scenarios(), "B7 and 4.1.1")
    shown = show(replace(scenario.claim, show=mistaken), cluster, run=no_experiment)
    assert (shown.outcome, type(shown.error)) == ("error", ZeroDivisionError)
    assert cluster.healthy()
    views = metadata_views.views(cluster.brokers, created)
    assert not [log for view in views.values() for log in view if log[0] in created], "its topics are deleted"


@pytest.mark.nightly
@pytest.mark.parametrize("scenario", by_cluster(all_scenarios()), ids=lambda scenario: scenario.name)
def test_every_scenario(harness: Harness, scenario: Scenario) -> None:
    shown = run_once(harness, scenario)
    assert shown.outcome == scenario.case.expected, shown.seen
