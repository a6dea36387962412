"""Schedules name groups of a run by short names, because the real names contain the run."""

from __future__ import annotations

from nemesis.faults.configure import configure
from nemesis.faults.kill import kill
from nemesis.faults.rebalance import rebalance
from nemesis.targets import Target, named
from nemesis.topology import Aliases
from nemesis.triggers import Trigger

ALIASES = Aliases(names={"group-0": "group-0-a1"}, topics={"log": "log-a1", "output": "output-a1"})


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
    for text, name in (
        ("leader:output-0", "leader:output-a1-0"),
        ("partition:output-2", "partition:output-a1-2"),
        ("topic:output", "topic:output-a1"),
        ("leader:other-0", "leader:other-0"),
    ):
        assert str(named(Target.parse(text), ALIASES)) == name
    assert str(Trigger.parse("isr-shrink:output-1").named(ALIASES)) == "isr-shrink:output-a1-1"
    assert str(Trigger.parse("rebalance:group-0 within 5").named(ALIASES)) == "rebalance:group-0-a1 within 5"
    for text in ("rebalance:other", "acks:5"):
        assert str(Trigger.parse(text).named(ALIASES)) == text


def test_a_fault_hits_the_group_of_the_run_and_its_row_has_the_schedules_name(fake_run) -> None:
    fake_run.aliases = ALIASES
    groups = fake_run.cluster.kafka.groups
    groups["group-0-a1"] = ("PreparingRebalance", 3)
    fake_run.stop.arrange(3, lambda: groups.update({"group-0-a1": ("Stable", 3)}))
    fake_run.carry_out(
        rebalance("group:group-0", at=1), kill("coordinator:group-0", after="rebalance:group-0", lasting=2)
    )
    assert fake_run.effective()["rebalance-0", "inject"]
    value = fake_run.value("kill-1", "inject")
    assert (value["target"], value["effective"]) == ("coordinator:group-0", True)


def test_a_fault_hits_the_topic_of_the_run(fake_run) -> None:
    fake_run.aliases = ALIASES
    fake_run.cluster.leaders = {("log-a1", 0): 2, ("output-a1", 1): 3}
    fake_run.carry_out(kill("leader:output-1", at=1, lasting=2))
    value = fake_run.value("kill-0", "inject")
    assert (value["target"], value["nodes"], value["effective"]) == ("leader:output-1", [3], True)


def test_the_main_topic_is_the_same_with_its_name_and_without(fake_run) -> None:
    """Two faults that restore the same settings wait for each other. The trigger of the second comes meanwhile."""
    fake_run.aliases, fake_run.topic = ALIASES, "log-a1"
    fake_run.clients.acks = lambda: 5
    settings = {"retention.ms": 1000}
    fake_run.carry_out(
        configure(settings, "topic", at=1, lasting=4),
        configure(settings, "topic:log", at=2, after="acks:1", lasting=1),
    )
    begun, healed = fake_run.times("inject"), fake_run.times("heal")
    assert begun["configure-1"] >= healed["configure-0"] == 5
