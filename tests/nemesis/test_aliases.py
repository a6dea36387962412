"""Schedules name groups of a run by short names, because the real names contain the run."""

from __future__ import annotations

from nemesis.faults.kill import kill
from nemesis.faults.rebalance import rebalance
from nemesis.targets import Target, named
from nemesis.triggers import Trigger

ALIASES = {"group-0": "group-0-a1"}


def test_targets_and_triggers_get_the_name_in_the_run() -> None:
    for text in (
        "coordinator:group-0",
        "group:group-0",
        "transaction:group-0",
        "transaction-coordinator:group-0",
    ):
        assert str(named(Target.parse(text), ALIASES)) == f"{text}-a1"
    for text in ("coordinator:other", "leader", "role:group-0", "roles:group-0", "client:0", "topic:group-0"):
        assert str(named(Target.parse(text), ALIASES)) == text
    assert str(Trigger.parse("rebalance:group-0 within 5").named(ALIASES)) == "rebalance:group-0-a1 within 5"
    for text in ("rebalance:other", "acks:5"):
        assert str(Trigger.parse(text).named(ALIASES)) == text


def test_a_fault_hits_the_group_of_the_run_and_its_row_has_the_schedules_name(fake_run) -> None:
    fake_run.aliases = ALIASES
    fake_run.cluster.kafka.groups["group-0-a1"] = ("PreparingRebalance", 3)
    fake_run.carry_out(
        rebalance("group:group-0", at=1), kill("coordinator:group-0", after="rebalance:group-0", lasting=2)
    )
    assert fake_run.effective()["rebalance-0", "inject"]
    value = fake_run.value("kill-1", "inject")
    assert (value["target"], value["effective"]) == ("coordinator:group-0", True)
