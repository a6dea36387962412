"""Faults of Kafka itself, on the fake cluster."""

from __future__ import annotations

import pytest

from pytest_kafkacheck import (
    add_broker,
    add_partitions,
    clock,
    configure,
    configure_broker,
    delete_controller,
    delete_records,
    elect,
    fence,
    kill,
    leader_storm,
    pause,
    reassign,
    rebalance,
    recreate_topic,
    remove_broker,
    rolling_restart,
)
from tests.support.fault_cases import Case, on_kafka

CASES: dict[str, Case] = {
    "elect": Case(
        make=lambda **t: elect(**t),
        breaks=on_kafka("elect"),
        valid=({"unclean": True},),
        wrong=(({"unclean": "no"}, "elect unclean='no': expected True or False"),),
    ),
    "leader-storm": Case(
        make=lambda **t: leader_storm(**t),
        breaks=on_kafka("elect"),
        heal=on_kafka("reassign"),
        valid=({"every": 0.25},),
        wrong=(({"every": -1}, "leader-storm every=-1: expected a number, above 0"),),
    ),
    "reassign": Case(make=lambda **t: reassign(**t), breaks=on_kafka("reassign"), heal=on_kafka("reassign")),
    "add-broker": Case(
        make=lambda **t: add_broker(**t), breaks=on_kafka("add_broker"), heal=on_kafka("remove_broker")
    ),
    "remove-broker": Case(
        make=lambda **t: remove_broker(1, **t), breaks=on_kafka("remove_broker"), heal=on_kafka("add_broker")
    ),
    "recreate-topic": Case(make=lambda **t: recreate_topic(**t), breaks=on_kafka("recreate")),
    "add-partitions": Case(
        make=lambda **t: add_partitions(**t),
        breaks=on_kafka("add_partitions"),
        valid=({"count": 4},),
        wrong=(({"count": 0}, "add-partitions count=0: expected a whole number, 1 or more"),),
    ),
    "delete-records": Case(
        make=lambda **t: delete_records(**t),
        breaks=on_kafka("delete_records"),
        valid=({"share": 0.25},),
        wrong=(({"share": 2}, "delete-records share=2: expected a number, above 0, 1 at most"),),
    ),
    "configure": Case(
        make=lambda **t: configure({"min.insync.replicas": 1, "retention.ms": 7}, **t),
        breaks=on_kafka("configure_topic"),
        heal=on_kafka("configure_topic"),
        valid=({"settings": {"a": 1, "b": True}},),
        wrong=(({}, "configure settings={}: expected settings by name"),),
    ),
    "configure-broker": Case(
        make=lambda **t: configure_broker({"log.cleaner.threads": 2}, 1, **t),
        breaks=on_kafka("configure_broker"),
        heal=on_kafka("configure_broker"),
        valid=({"settings": {"a": "x"}},),
        wrong=(({"settings": {1: 2}}, "configure-broker settings={1: 2}"),),
    ),
    "delete-controller": Case(make=lambda **t: delete_controller(**t), breaks=on_kafka("delete_controller")),
    "fence": Case(make=lambda **t: fence("transaction:transfer", **t), breaks=on_kafka("fence")),
    "rebalance": Case(make=lambda **t: rebalance("group:readers", **t), breaks=on_kafka("rebalance")),
}


def test_a_rebalance_waits_for_a_group_that_rebalances(fake_run) -> None:
    kafka = fake_run.cluster.kafka
    kafka.groups["readers"] = ("PreparingRebalance", 3)
    fake_run.stop.arrange(4, lambda: kafka.groups.update(readers=("Stable", 3)))
    fake_run.carry_out(rebalance("group:readers", at=1))
    value = fake_run.value("rebalance-0", "inject")
    assert (value["effective"], value["evidence"]["state"]) == (True, "Stable")


def test_a_rebalance_of_a_group_that_goes_on_rebalancing_fails(fake_run) -> None:
    fake_run.cluster.kafka.groups["readers"] = ("PreparingRebalance", 3)
    fake_run.carry_out(rebalance("group:readers", at=1), pause(3, at=30, lasting=1))
    assert fake_run.row("rebalance-0", "inject")["error"] == "ValueError: group readers is PreparingRebalance"
    assert fake_run.times("inject")["pause-1"] == 30


def test_an_unanswered_heal_is_repeated_at_the_end(fake_run) -> None:
    kafka = fake_run.cluster.kafka
    fake_run.stop.arrange(5, lambda: kafka.silent.add("configure_topic"))
    fake_run.stop.arrange(20, kafka.silent.clear)
    fake_run.carry_out(CASES["configure"].event(), pause(3, at=30, lasting=2))
    assert fake_run.row("configure-0", "heal")["error"].startswith("OSError")
    assert kafka.topic_settings == {"retention.ms": "1000"}


def test_a_heal_that_is_never_answered_is_reported_at_the_end(fake_run) -> None:
    fake_run.stop.arrange(5, lambda: fake_run.cluster.kafka.silent.add("configure_topic"))
    fake_run.carry_out(CASES["configure"].event())
    assert fake_run.rows[-1]["f"] == "heal-all", "what is left must be reported"
    assert "configure-0" in fake_run.rows[-1]["error"]


def test_a_leader_storm_visits_every_replica_and_restores_their_order(fake_run) -> None:
    seen: set[int | None] = set()
    for tenth in range(10, 60):
        fake_run.stop.arrange(tenth / 10, lambda: seen.add(fake_run.cluster.leader("log", 0)))
    fake_run.carry_out(leader_storm(every=0.5, at=1, lasting=5))
    assert seen == {1, 2, 3}
    evidence = fake_run.value("leader-storm-0", "heal")["evidence"]
    assert evidence["leader_epochs"] == evidence["changes"] == evidence["elections"] == evidence["beats"] >= 9
    assert fake_run.cluster.assignment == (2, 3, 1)


def test_a_repetition_that_fails_does_not_end_the_run(fake_run) -> None:
    kafka = fake_run.cluster.kafka
    fake_run.stop.arrange(2, lambda: kafka.silent.add("elect"))
    fake_run.carry_out(leader_storm(every=0.5, at=1, lasting=5), kill(1, at=3, lasting=1))
    assert fake_run.effective() == {
        ("leader-storm-0", "inject"): True,
        ("leader-storm-0", "heal"): False,
        ("kill-1", "inject"): True,
        ("kill-1", "heal"): True,
    }


@pytest.mark.parametrize("how", ["silent", "ignores"])
def test_a_leader_storm_whose_elections_fail_is_not_proved(fake_run, how) -> None:
    kafka = fake_run.cluster.kafka
    fake_run.stop.arrange(2.2, lambda: getattr(kafka, how).add("elect"))
    fake_run.stop.arrange(5.8, lambda: getattr(kafka, how).discard("elect"))
    fake_run.carry_out(leader_storm(every=0.5, at=1, lasting=30))
    assert fake_run.effective() == {("leader-storm-0", "inject"): True, ("leader-storm-0", "heal"): False}
    evidence = fake_run.value("leader-storm-0", "heal")["evidence"]
    assert evidence["changes"] < evidence["beats"]
    assert fake_run.cluster.assignment == (2, 3, 1)


@pytest.mark.parametrize("how", ["silent", "ignores"])
def test_another_fault_explains_that_elections_of_a_leader_storm_fail(fake_run, how) -> None:
    kafka = fake_run.cluster.kafka
    fake_run.stop.arrange(3.2, lambda: getattr(kafka, how).add("elect"))
    fake_run.stop.arrange(5, lambda: getattr(kafka, how).discard("elect"))
    fake_run.carry_out(leader_storm(every=0.5, at=1, lasting=30), kill(1, at=3.1, lasting=2))
    assert all(fake_run.effective().values())
    evidence = fake_run.value("leader-storm-0", "heal")["evidence"]
    assert evidence["explained"] > 0
    assert evidence["changes"] + evidence["explained"] == evidence["beats"]


def test_a_leader_who_is_elected_after_the_heal_was_due_completes_the_last_beat(
    fake_run, monkeypatch
) -> None:
    cluster = fake_run.cluster

    def elect(*log: object, unclean: bool) -> None:
        """Brokers report the new leader a moment later."""
        assert not unclean
        elected = cluster.assignment[0], cluster.kafka.epochs + 1

        def report() -> None:
            cluster.leaders[log], cluster.kafka.epochs = elected

        fake_run.stop.arrange(fake_run.stop.now - 100 + 0.3, report)

    monkeypatch.setattr(cluster.kafka, "elect", elect)
    fake_run.carry_out(leader_storm(every=0.5, at=1, lasting=2.2))
    assert all(fake_run.effective().values())
    evidence = fake_run.value("leader-storm-0", "heal")["evidence"]
    assert evidence["changes"] == evidence["beats"] == 5


def test_no_repetition_follows_a_heal_that_was_due_at_the_same_time(fake_run) -> None:
    # The restart ends at a time where began + lasting, rounded, lies between the last beat and the heal.
    fake_run.carry_out(CASES["leader-storm"].event(at=1, lasting=1), rolling_restart(at=0))
    assert fake_run.cluster.assignment == (2, 3, 1)


def test_a_fault_says_whether_it_may_remove_records(fake_run) -> None:
    fake_run.carry_out(
        delete_records(at=1),
        recreate_topic(at=2),
        clock(1, offset=60, at=3, lasting=1),
        configure({"retention.ms": 7}, at=5, lasting=1),
        configure_broker({"log.cleanup.policy": "compact"}, 1, at=7, lasting=1),
        configure({"min.insync.replicas": 1}, at=9, lasting=1),
        kill(1, at=11, lasting=1),
    )
    removing = {row["f"] for row in fake_run.rows if row["value"].get("removes_records")}
    assert removing == {"delete-records", "recreate-topic", "clock", "configure", "configure-broker"}
    settings = {row["value"]["event"] for row in fake_run.rows if "removes_records" not in row["value"]}
    assert settings == {"configure-5", "kill-6"}


def test_delete_records_says_where_the_log_begins_now(fake_run) -> None:
    fake_run.carry_out(delete_records(at=1))
    evidence = fake_run.value("delete-records-0", "inject")["evidence"]
    assert (evidence["topic"], evidence["partition"]) == ("log", 0)
    assert evidence["start_before"] < evidence["start"]
