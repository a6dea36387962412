"""Strategies of hypothesis: what they draw is possible, and shrinks to what a failure needs."""

from __future__ import annotations

import subprocess
import sys

import pytest
from hypothesis import HealthCheck, Phase, find, given, settings

from nemesis.budget import Budget
from nemesis.schedule import Schedule
from pytest_kafkacheck.experiment.experiment import Experiment
from pytest_kafkacheck.strategies import configurations, experiments, schedules, workloads
from tests.support.topologies import TOPOLOGIES
from workloads.append_log import AppendLog
from workloads.groups import Groups
from workloads.transactions import Transactions

FEW = settings(max_examples=40, deadline=None, suppress_health_check=list(HealthCheck))
FIND = settings(FEW, max_examples=300, phases=[Phase.generate, Phase.shrink], database=None)


@FEW
@given(schedule=schedules(TOPOLOGIES["three"], events=4, length=20, budget=Budget(brokers=1)))
def test_schedules_are_possible_and_keep_the_budget(schedule: Schedule) -> None:
    schedule.check(TOPOLOGIES["three"])
    Budget(brokers=1).check(schedule, TOPOLOGIES["three"])
    assert 1 <= len(schedule.events) <= 4
    assert schedule.length <= 20


@FEW
@given(
    experiment=experiments(
        workloads=workloads(AppendLog, Groups, Transactions, configurations=configurations()), clients=True
    )
)
def test_experiments_can_be_run_and_stored(experiment: Experiment) -> None:
    assert Experiment.from_json(experiment.to_json()) == experiment
    assert experiment.workload.topic_config["min.insync.replicas"] in (1, 2)  # type: ignore[attr-defined]


def test_a_schedule_shrinks_to_the_events_that_matter() -> None:
    def kills_the_leader_for_long(schedule: Schedule) -> bool:
        return any(
            event.fault.name == "kill" and str(event.target) == "leader" and event.lasting >= 4
            for event in schedule.events
        )

    drawn = schedules(TOPOLOGIES["three"], faults=["kill", "pause"])
    (event,) = find(drawn, kills_the_leader_for_long, settings=FIND).events
    assert (event.fault.name, event.at, event.lasting) == ("kill", 0.0, 4.0)


def test_a_configuration_shrinks_to_the_setting_that_matters() -> None:
    found = find(configurations(), lambda each: each["acks"] == 1, settings=FIND)
    assert found == {
        "acks": 1,
        "topic_config": {"min.insync.replicas": 2, "unclean.leader.election.enable": False},
    }


def test_a_fault_that_is_not_known_is_refused() -> None:
    with pytest.raises(ValueError, match="fault 'kil'"):
        schedules(TOPOLOGIES["three"], faults=["kil"])


def test_without_hypothesis_the_extra_is_named() -> None:
    program = "import sys; sys.modules['hypothesis'] = None; import pytest_kafkacheck.strategies"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert "pip install 'pytest-kafkacheck[hypothesis]'" in done.stderr
