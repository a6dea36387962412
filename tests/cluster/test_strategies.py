"""What the strategies of hypothesis draw is run on real brokers, and each run gets a verdict."""

from __future__ import annotations

from collections.abc import Callable
from itertools import count

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from nemesis.schedule import Schedule
from pytest_kafkacheck.cluster.spec.spec import ClusterSpec
from pytest_kafkacheck.experiment.experiment import Experiment
from pytest_kafkacheck.run import Run
from pytest_kafkacheck.strategies import configurations, experiments, schedules, workloads
from workloads.append_log import AppendLog
from workloads.groups import Groups
from workloads.transactions import Transactions
from workloads.workload import Workload

pytestmark = [pytest.mark.cluster, pytest.mark.spark, pytest.mark.nightly, pytest.mark.timeout(1800)]

SAFE = configurations(acks=["all"], min_isr=[2], unclean=[False])
SHORT = {"events": 2, "length": 10.0, "lasting": (2.0, 4.0)}
TOPOLOGY = Experiment(workload=AppendLog(), cluster=ClusterSpec()).topology


def few(examples: int) -> settings:
    """The same examples each time: what fails is found again, and no flake is hidden."""
    return settings(
        max_examples=examples,
        deadline=None,
        derandomize=True,
        database=None,
        phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
    )


Kafkacheck = Callable[[Experiment], Run]


def took_effect(run: Run) -> None:
    """Every event of the drawn schedule was injected and has ended."""
    faults = run.verdict.exercised.faults
    assert {each.event for each in faults} == {
        event.id for event in Experiment.read(run.path / "experiment.json").schedule.events
    }
    assert [each.event for each in faults if not (each.effective and each.healed)] == []


def test_drawn_experiments_run_and_are_judged(kafkacheck: Kafkacheck) -> None:
    drawn: list[Experiment] = []

    @few(3)
    @given(
        experiment=experiments(
            workloads=workloads(AppendLog, Groups, Transactions, configurations=SAFE), **SHORT
        )
    )
    def check(experiment: Experiment) -> None:
        drawn.append(experiment)
        run = kafkacheck(experiment)
        assert run.verdict.result == "valid", run.text()
        took_effect(run)

    check()
    assert len({str(each.schedule) for each in drawn}) == len(drawn) == 3


def test_drawn_schedules_run_and_are_judged(kafkacheck: Kafkacheck) -> None:
    numbers = count()

    @few(3)
    @given(schedule=schedules(TOPOLOGY, **SHORT))
    def check(schedule: Schedule) -> None:
        next(numbers)
        workload = AppendLog(topic_config={"min.insync.replicas": 2})
        run = kafkacheck(Experiment(workload=workload, faults=schedule.events, cooldown=8))
        assert run.verdict.result == "valid", run.text()
        took_effect(run)

    check()
    assert next(numbers) == 3


def test_drawn_configurations_and_workloads_run_and_are_judged(kafkacheck: Kafkacheck) -> None:
    """Without faults every configuration keeps its promises."""
    kinds: set[str] = set()

    @few(4)
    @given(
        workload=workloads(AppendLog, Groups, Transactions, configurations=configurations()),
        seed=st.integers(0, 9),
    )
    def check(workload: Workload, seed: int) -> None:
        kinds.add(type(workload).__name__)
        run = kafkacheck(Experiment(workload=workload, duration=5, seed=seed))
        assert run.verdict.result == "valid", run.text()

    check()
    assert len(kinds) > 1
