"""Scenarios on real brokers: by day a claim of each section, on the cluster of all tests; each night all of them."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from nemesis.faults.pause import pause
from pytest_kafkacheck.claims.claim import SECTIONS, Answer, Scenario, all_scenarios
from pytest_kafkacheck.claims.context import ScenarioContext
from pytest_kafkacheck.claims.run import by_cluster, run_once, show
from pytest_kafkacheck.claims.selection import selected
from pytest_kafkacheck.cluster.docker.cluster import DockerCluster
from pytest_kafkacheck.cluster.kafka import metadata_views
from pytest_kafkacheck.experiment.experiment import Experiment
from pytest_kafkacheck.experiment.harness import Harness
from pytest_kafkacheck.run import Run
from tests.support.real_cluster import wait_until

pytestmark = pytest.mark.cluster

BY_DAY = ("A1", "B7", "C7", "D11", "E5", "F11")
"""Of each section one that takes little time."""


def no_experiment(_: Experiment) -> Run:
    raise AssertionError("this scenario runs no experiment")


def is_by_day(scenario: Scenario) -> bool:
    return scenario.claim.id in BY_DAY and scenario.case.name == "4.1.1"


def scenarios(*, by_day: bool) -> list[Any]:
    found = [each for each in by_cluster(all_scenarios()) if is_by_day(each) == by_day]
    return [pytest.param(each, id=each.name) for each in found]


def test_a_claim_of_each_section_is_shown_by_day() -> None:
    shown = [each.claim.id for each in all_scenarios() if is_by_day(each)]
    assert shown == [*BY_DAY]
    assert [id_[0] for id_ in shown] == [*SECTIONS]


@pytest.mark.parametrize("scenario", scenarios(by_day=True))
def test_scenario_by_day(cluster: DockerCluster, scenario: Scenario) -> None:
    assert scenario.case.cluster == cluster.spec
    shown = show(scenario.claim, cluster, run=no_experiment)
    assert shown.outcome == scenario.case.expected, shown.seen


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

    def are_deleted() -> bool:
        views = metadata_views.views(cluster.brokers, created)
        return not [log for view in views.values() for log in view if log[0] in created]

    wait_until(are_deleted)  # brokers learn of a deletion one after another


@pytest.mark.nightly
@pytest.mark.parametrize("scenario", scenarios(by_day=False))
def test_scenario_by_night(harness: Harness, scenario: Scenario) -> None:
    shown = run_once(harness, scenario)
    assert shown.outcome == scenario.case.expected, shown.seen
