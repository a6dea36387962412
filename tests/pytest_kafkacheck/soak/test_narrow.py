"""What the command line changes in a plan is what rounds are drawn from."""

from __future__ import annotations

import pytest

from pytest_kafkacheck.experiment.experiment import Experiment
from pytest_kafkacheck.soak.draw import LONGEST, candidate
from pytest_kafkacheck.soak.plan import PRESETS, Soak, with_client, with_faults, with_versions

OTHER = "command:fake-client"


def rounds(plan: Soak, *numbers: int) -> list[Experiment]:
    return [candidate(plan, 1, number, 0) for number in numbers or range(1, 13)]


def faults(plan: Soak) -> set[str]:
    return {event.fault.name for each in rounds(plan) for event in each.schedule.events}


def test_only_the_named_faults_are_drawn() -> None:
    assert faults(with_faults(PRESETS["safe"].plan(), ["isolate", "kill"])) == {"isolate", "kill"}


def test_named_faults_keep_the_weight_that_the_plan_gives_them() -> None:
    narrowed = with_faults(PRESETS["cycle"].plan(), ["restart", "pause"])
    assert narrowed.faults == {"restart": 3, "pause": 1.0}


def test_the_preset_cycle_restarts_brokers_in_every_round() -> None:
    plan = PRESETS["cycle"].plan()
    assert faults(plan) == set(plan.faults or ()) == {"restart", "rolling-restart", "kill", "stop"}
    assert all(each.schedule.events for each in rounds(plan))


@pytest.mark.parametrize("name", PRESETS)
def test_every_round_has_the_other_client(name: str) -> None:
    plan = PRESETS[name].plan()
    for before, after in zip(rounds(plan), rounds(with_client(plan, OTHER)), strict=True):
        assert type(after.workload) is type(before.workload)
        assert vars(after.workload)["library"] == OTHER


def test_rounds_are_drawn_from_the_named_releases() -> None:
    plan = with_versions(PRESETS["unsafe"].plan(), ["3.9.2", "4.3.0"])
    drawn = rounds(plan, *range(1, 2 * LONGEST + 1))
    assert {each.cluster.version for each in drawn} == {"3.9.2", "4.3.0"}
