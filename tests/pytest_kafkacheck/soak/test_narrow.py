"""What the command line changes in a plan is what rounds are drawn from."""

from __future__ import annotations

from pathlib import Path

import pytest

from nemesis.faults.kill import kill
from nemesis.registry import FAULTS, faults_that_need
from pytest_kafkacheck.cluster.spec.spec import ClusterSpec
from pytest_kafkacheck.errors import UsageError
from pytest_kafkacheck.experiment.experiment import Experiment
from pytest_kafkacheck.run import Run
from pytest_kafkacheck.soak.draw import LONGEST, Drawn, candidate
from pytest_kafkacheck.soak.markdown import markdown
from pytest_kafkacheck.soak.pairs import STATES
from pytest_kafkacheck.soak.plan import (
    LEFT_OUT,
    PRESETS,
    SURVIVED,
    Soak,
    with_client,
    with_faults,
    with_versions,
    without_impossible,
)
from pytest_kafkacheck.soak.reach import reachable, unreached
from pytest_kafkacheck.soak.round import Round
from pytest_kafkacheck.soak.summary import summarized
from tests.support.fake_lab import shows
from workloads.groups import Groups
from workloads.pipeline import Pipeline
from workloads.queue import Queue
from workloads.stored import built_in

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


def test_every_fault_is_drawn_by_the_preset_safe_or_has_a_reason_why_not() -> None:
    assert SURVIVED.keys() & LEFT_OUT.keys() == set()
    assert SURVIVED.keys() | LEFT_OUT.keys() == FAULTS.keys()
    assert all(weight > 0 for weight in SURVIVED.values())


def test_the_preset_safe_draws_every_workload_with_its_variants() -> None:
    plan = PRESETS["safe"].plan()
    others = {Queue, Pipeline}  # which need Java, and an application
    assert {type(each) for each in plan.workloads} | others == set(built_in().values())
    circumstances = {circumstance for _, circumstance in reachable(plan)}
    assert circumstances >= {
        "at __consumer_offsets", "at __transaction_state", "at a group's coordinator",
        "at a transaction's coordinator", "at the controller", "at a leader", "at a follower",
        "under transactions", "under read-committed", "under static-members", "under group-classic",
        "under assignor-range", "under assignor-roundrobin", "with kafka-python", *set(STATES) - {"during clock"},
    }  # fmt: skip
    if "java" in plan.vary["library"]:
        assert circumstances >= {"under share-groups", "at __share_group_state", "under rack", "with java"}


def test_what_the_host_cannot_do_is_not_drawn() -> None:
    plan = PRESETS["safe"].plan()
    less = without_impossible(plan, {"delay", "reorder", "duplicate"})
    assert set(less.faults or ()) == SURVIVED.keys() - {"delay", "reorder", "duplicate"}
    assert [each.disk_mb for each in less.clusters] == [each.disk_mb for each in plan.clusters] == [None, 512]
    disks = faults_that_need("disks")
    assert {each.disk_mb for each in without_impossible(plan, disks).clusters} == {None}
    with pytest.raises(UsageError, match="expected one or more above 0"):
        without_impossible(plan, SURVIVED.keys())
    assert not with_faults(plan, ["delay"]).skip_impossible, "a fault that somebody names is not left out"


def test_the_summary_says_what_no_round_has_reached(tmp_path: Path) -> None:
    plan = Soak(
        workloads=[Groups()], vary={"static": [False, True]}, faults={"kill": 1, "pause": 1}, clients=True
    )
    experiment = Experiment(workload=Groups(), faults=[kill("leader", at=1, lasting=2)])
    drawn = Drawn(experiment=experiment, draw=0)
    ended = Round.of(1, drawn, Run(tmp_path, shows(experiment)), 60)
    assert unreached(plan, [ended]) == {
        "faults without any effect": ("pause",),
        "no fault began": ("during process", "recovering"),
        "no fault was aimed at": (
            "__consumer_offsets",
            "a follower",
            "a group's coordinator",
            "the controller",
        ),
        "no fault while clients used": ("static-members",),
    }
    summary = summarized(
        [ended], seed=1, seconds=60, never=unreached(plan, [ended]), left_out={"delay": "it needs netem"}
    )
    text = markdown(summary, name="plan", folder=tmp_path)
    assert "- no fault while clients used: static-members\n" in text
    assert "- left out on this host: delay: it needs netem\n" in text


def test_workloads_that_a_client_has_not_are_left_out() -> None:
    plan = with_client(PRESETS["safe"].plan(), "kafka-python")
    assert Queue not in {type(each) for each in plan.workloads}
    assert Groups in {type(each) for each in plan.workloads}
    with pytest.raises(UsageError, match=r"--client kafka-python: Queue\.library"):
        with_client(Soak(workloads=[Queue()], clusters=[ClusterSpec(version="4.4.0")]), "kafka-python")


def test_rounds_are_drawn_from_the_named_releases() -> None:
    plan = with_versions(PRESETS["unsafe"].plan(), ["3.9.2", "4.3.0"])
    drawn = rounds(plan, *range(1, 2 * LONGEST + 1))
    assert {each.cluster.version for each in drawn} == {"3.9.2", "4.3.0"}
