"""Triggers: moments that events wait for."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nemesis.schedule import Schedule, event_from_json
from nemesis.triggers import TRIGGER_LIMIT, Trigger, elected_anew
from nemesis.views import Elected, NeverComes
from pytest_kafkacheck import isolate, kill, pause
from tests.support.topologies import TOPOLOGIES

GOOD = [
    "acks:1", "acks:100", "isr-shrink", "isr-shrink:2", "isr-full:orders-1", "leader-change:my-own.topic_2-0",
    "controller-change", "rebalance:readers", "transaction:transfer-1", "isr-shrink within 20",
    "acks:5 within 2.5", "rebalance:readers within 120", "uncommitted-output:app:0",
    "committed-ahead:app:12 within 9", "open-transaction:app:1", "revocation:app:0",
    "in-flight:app:0 from 12.5 within 15", "isr-shrink from 3",
    "committed-ahead:app:0 from 3 or after 9.5", "isr-shrink or after 60",
]  # fmt: skip


@pytest.mark.parametrize("text", GOOD)
def test_a_trigger_is_its_text(text) -> None:
    trigger = Trigger.parse(text)
    assert str(trigger) == text
    assert Trigger.parse(str(trigger)) == trigger
    event = kill(1, lasting=2, at=3, after=text)
    assert event.to_json()["after"] == text
    assert event_from_json(json.loads(json.dumps(event.to_json()))) == event


@given(
    st.text()
    | st.sampled_from(["acks", "acks:0", "acks:-1", "acks:1.5", "isr-shrink:", "isr-full:a-", "controller-change:1",
                       "rebalance", "rebalance:", "transaction:a b", "leader-change:a", " acks:1", "acks:1 within",
                       "acks:1 within 0", "acks:1 within -1", "acks:1 within 5s", "acks:1 within 1 within 2",
                       "acks:1 within 2 from 1", "acks:1 or after", "acks:1 or after 5 within 2", "acks:1 from",
                       "acks:1 from -1", "within 5",
                       "acks:1 within 99999999999", "committed-ahead", "committed-ahead:app", "revocation:1",
                       "open-transaction:app:x"])
    | st.none() | st.integers()
)  # fmt: skip
def test_other_text_is_refused_with_what_is_allowed(text) -> None:
    try:
        assert str(Trigger.parse(text)) == text  # chance may hit upon a good one
    except ValueError as refused:
        assert str(refused).startswith(f"no trigger {text!r}; ")  # noqa: PT017 - some texts are allowed


@pytest.mark.parametrize(
    ("where", "text", "said"),
    [
        ("three", "isr-shrink:3", "trigger 'isr-shrink:3': log has no partition 3; allowed: 0 to 2"),
        ("three", "leader-change:other-0", "the workload has no topic other; allowed: log"),
        ("one", "controller-change", "the cluster has one node that can be the controller"),
        ("one", "isr-full", "this never happens to a topic with one replica"),
    ],
)
def test_triggers_that_can_never_come_are_refused_with_the_event(where, text, said) -> None:
    with pytest.raises(ValueError) as refused:
        Schedule.of([kill(1, lasting=1, after=text)]).check(TOPOLOGIES[where])
    assert said in str(refused.value)
    assert "'kill-0'" in str(refused.value)


@pytest.mark.parametrize("text", GOOD[:4] + GOOD[6:12])
def test_triggers_that_can_come_are_accepted(text) -> None:
    Schedule.of([kill(1, lasting=1, after=text)]).check(TOPOLOGIES["three"])


def test_each_trigger_comes_with_its_moment_and_not_before(fake_run) -> None:
    cluster, clients = fake_run.cluster, fake_run.clients

    def watch(text):
        return Trigger.parse(text).watch(cluster, clients, topic="log").has_come

    acks, leader, controller = watch("acks:5"), watch("leader-change"), watch("controller-change")
    shrink, full = watch("isr-shrink:1"), watch("isr-full:1")
    assert not any(each() for each in (acks, leader, controller, shrink, full))
    cluster.leaders["log", 0] = cluster.active_controller = None
    assert (leader(), controller()) == (False, False), "an unknown leader is not another leader"
    cluster.leaders["log", 0], cluster.active_controller = 2, 3
    assert (leader(), controller()) == (False, False), "the same one came back"
    cluster.leaders["log", 0], cluster.active_controller = 1, 1
    assert (leader(), controller()) == (True, True)
    cluster.in_sync = ()
    assert (shrink(), full()) == (False, False), "no broker reports replicas"
    cluster.in_sync = (1, 3)
    assert (shrink(), full()) == (True, False)
    cluster.in_sync = (1, 2, 3)
    assert (shrink(), full()) == (False, True)
    clients.acks = lambda: 5
    assert acks()
    rebalance, transaction = watch("rebalance:readers"), watch("transaction:transfer")
    assert (rebalance(), transaction()) == (False, True)
    cluster.kafka.groups["readers"] = ("PreparingRebalance", 3)
    cluster.kafka.transactions["transfer"] = ("CompleteCommit", 3)
    assert (rebalance(), transaction()) == (True, False)
    cluster.kafka.groups["readers"] = ("CompletingRebalance", 3)
    assert rebalance()


def test_a_leader_change_counts_from_the_first_known_leader(fake_run) -> None:
    fake_run.cluster.leaders["log", 0] = None
    watch = Trigger.parse("leader-change").watch(fake_run.cluster, fake_run.clients, topic="log")
    changed = watch.has_come
    assert not changed()
    fake_run.cluster.leaders["log", 0] = 1
    assert not changed()
    fake_run.cluster.leaders["log", 0] = 2
    assert changed()


def test_an_election_that_began_and_ended_between_two_looks_is_noticed(fake_run) -> None:
    cluster = fake_run.cluster
    leader, controller = (
        Trigger.parse(text).watch(cluster, fake_run.clients, topic="log")
        for text in ("leader-change", "controller-change")
    )
    assert not leader.has_come()
    assert not controller.has_come()
    cluster.kafka.epochs += 2
    assert leader.has_come()
    assert not controller.has_come()
    cluster.kafka.controller_epochs += 1
    assert controller.has_come()
    assert (leader.seen, controller.seen) == ("the leader is 2, epoch 7", "the controller is 3, epoch 6")


@pytest.mark.parametrize("epochs", [(5, 6, 7, 8), (5, 4, 6), (-1, 5)])
def test_a_leader_that_stays_is_no_change(epochs) -> None:
    """In old versions the epoch also rises with the ISR, one by one. A broker that was cut off reports an old one."""
    is_new = elected_anew(2)
    assert not any(is_new(Elected(2, epoch)) for epoch in epochs)


def test_an_outdated_view_of_another_leader_is_no_change() -> None:
    is_new = elected_anew(2)
    assert not is_new(Elected(2, 6))
    assert not is_new(Elected(1, 5))
    assert not is_new(Elected(2, 6))
    assert is_new(Elected(3, 7))


def test_epochs_of_a_recreated_topic_begin_again() -> None:
    is_new = elected_anew(2)
    assert not is_new(Elected(2, 6, "old"))
    assert not is_new(Elected(2, 0, "new"))
    assert is_new(Elected(3, 1, "new"))


def test_what_looks_have_opened_is_closed(fake_run) -> None:
    acks_per_second(fake_run, 10)
    fake_run.stop.arrange(3, lambda: setattr(fake_run.cluster, "active_controller", 1))
    fake_run.carry_out(
        kill("leader", at=1, lasting=2),
        pause(2, after="controller-change", lasting=1),
        pause(3, after="isr-shrink within 5", lasting=1),
    )
    assert fake_run.cluster.opened == fake_run.cluster.closed == 7


def acks_per_second(fake_run, number: float) -> None:
    fake_run.clients.acks = lambda: int((fake_run.stop.now - 100) * number)


def test_at_counts_from_the_trigger(fake_run) -> None:
    acks_per_second(fake_run, 10)
    fake_run.carry_out(
        kill(1, after="acks:100", lasting=2),
        pause(2, at=3.5, after="acks:100", lasting=2),
        isolate(3, at=4, lasting=1),
    )
    assert fake_run.times("inject") == pytest.approx({"isolate-2": 4, "kill-0": 10, "pause-1": 13.5}, abs=0.3)
    assert fake_run.times("heal")["kill-0"] == pytest.approx(12, abs=0.3)
    assert all(fake_run.effective().values())


def test_events_with_and_without_triggers_do_not_wait_for_each_other(fake_run) -> None:
    acks_per_second(fake_run, 10)
    fake_run.carry_out(
        kill(1, at=1, lasting=2), kill(1, after="acks:60", at=1, lasting=2), kill(1, at=12, lasting=2),
        pause(3, after="controller-change", lasting=1),
    )  # fmt: skip
    begun = fake_run.times("inject")
    assert begun["kill-0"] == 1
    assert begun["kill-1"] == pytest.approx(7, abs=0.3)
    assert begun["kill-2"] == 12
    assert begun["pause-3"] == pytest.approx(TRIGGER_LIMIT, abs=0.5)
    assert fake_run.stop.now < 162, "nothing is waited for after the last one was given up"


def test_a_trigger_is_noticed_while_a_heal_waits_for_its_broker(fake_run) -> None:
    """That may take a minute, and the moment may not come again."""
    acks_per_second(fake_run, 10)
    fake_run.cluster.boot = 30
    fake_run.carry_out(kill(1, at=0, lasting=5), isolate(2, after="acks:100", lasting=3))
    assert fake_run.times("inject")["isolate-1"] == pytest.approx(10, abs=0.5)
    assert "isolate-1 goes on" in str(fake_run.value("kill-0", "heal")["evidence"]["serving"])


def test_a_look_at_a_trigger_that_waits_for_a_silent_broker_delays_nothing_else(
    fake_run, monkeypatch
) -> None:
    monkeypatch.setattr(fake_run.cluster, "controller", lambda: fake_run.stop.wait(3))
    fake_run.carry_out(pause(2, at=4, lasting=2), kill(1, after="controller-change", lasting=1))
    assert fake_run.times("inject")["pause-0"] == 4
    assert fake_run.times("heal")["pause-0"] == 6


def test_a_trigger_that_never_comes_is_recorded_and_its_fault_is_not_injected(fake_run) -> None:
    fake_run.carry_out(kill(1, after="acks:100", lasting=2), kill(2, at=70, lasting=2))
    assert fake_run.stop.now < 175
    value = fake_run.value("kill-0", "inject")
    assert (value["effective"], value["nodes"]) == (False, [])
    assert value["evidence"] == {
        "trigger": "acks:100 did not come within 60 s",
        "seen_instead": "0 acknowledgements",
    }
    heal = fake_run.value("kill-0", "heal")
    assert (heal["effective"], heal["evidence"]) == (True, {"nothing": "there was nothing to heal"})
    assert "active" not in heal
    assert fake_run.times("inject")["kill-0"] == pytest.approx(TRIGGER_LIMIT, abs=0.2)
    assert fake_run.cluster.nodes[1].log == []
    assert fake_run.effective()["kill-1", "inject"] is True


def test_a_trigger_that_cannot_come_is_given_up_as_soon_as_that_is_seen(fake_run, monkeypatch) -> None:
    """A group may be made by the workload: it is not known at first."""
    state = fake_run.cluster.state

    def other_protocol(kind: str, name: str) -> str | None:
        if fake_run.stop.now < 103:
            return None
        raise NeverComes(f"{kind} {name} has another protocol")

    assert state("group", "readers") == "Stable"
    monkeypatch.setattr(fake_run.cluster, "state", other_protocol)
    fake_run.carry_out(kill(1, after="rebalance:readers", lasting=2), pause(2, at=9, lasting=1))
    assert fake_run.times("inject") == {"kill-0": pytest.approx(3, abs=0.2), "pause-1": 9}
    assert fake_run.value("kill-0", "inject")["evidence"] == {
        "trigger": "rebalance:readers never comes: group readers has another protocol",
        "seen_instead": "the state is unknown",
    }


def test_a_limit_of_its_own_and_what_was_seen_last(fake_run) -> None:
    fake_run.carry_out(kill(1, after="isr-shrink within 5", lasting=2))
    assert fake_run.times("inject")["kill-0"] == pytest.approx(5, abs=0.2)
    assert fake_run.value("kill-0", "inject")["evidence"] == {
        "trigger": "isr-shrink did not come within 5 s",
        "seen_instead": "the ISR is 1, 2, 3; the replicas are 1, 2, 3",
    }


def test_a_trigger_is_waited_for_from_a_time_on(fake_run) -> None:
    """What was the case before does not count, and the limit counts from there."""
    fake_run.cluster.leaders["log", 0] = 1
    fake_run.stop.arrange(5, lambda: fake_run.cluster.leaders.update({("log", 0): 2}))
    fake_run.stop.arrange(25, lambda: fake_run.cluster.leaders.update({("log", 0): 3}))
    fake_run.carry_out(
        pause(1, after="leader-change from 10", lasting=1),
        pause(2, after="leader-change from 40 within 5", lasting=1),
    )
    assert fake_run.times("inject") == {
        "pause-0": pytest.approx(25, abs=0.3),
        "pause-1": pytest.approx(45, abs=0.3),
    }
    assert (
        fake_run.value("pause-1", "inject")["evidence"]["trigger"] == "leader-change did not come within 5 s"
    )


@pytest.mark.parametrize(
    ("first", "second", "overlap"),
    [
        (kill(1, at=20, lasting=2), kill(1, after="acks:5", lasting=2), True),
        (kill(1, at=80, lasting=2), kill(1, after="acks:5 within 20", lasting=2), False),
        (kill(1, at=9, lasting=2), kill(1, after="acks:5 from 10 within 5", lasting=2), True),
        (kill(1, at=7, lasting=2), kill(1, after="acks:5 from 10 within 5", lasting=2), False),
        (kill(1, at=17, lasting=2), kill(1, after="acks:5 from 10 within 5", at=1, lasting=2), True),
        (kill(1, at=18, lasting=2), kill(1, after="acks:5 from 10 within 5", at=1, lasting=2), False),
    ],
)
def test_an_event_with_a_trigger_may_begin_until_its_limit(first, second, overlap) -> None:
    assert first.overlaps(second) is overlap
    assert second.overlaps(first) is overlap


def test_an_event_may_come_without_its_trigger(fake_run) -> None:
    fake_run.carry_out(kill(1, after="isr-shrink from 2 or after 5", at=1, lasting=2))
    assert fake_run.times("inject")["kill-0"] == pytest.approx(8, abs=0.2)
    value = fake_run.value("kill-0", "inject")
    assert value["effective"]
    said = "isr-shrink did not come within 5 s; the fault comes without it"
    assert value["evidence"]["trigger"] == said


def test_a_fault_without_its_moment_waits_for_an_instance_at_work() -> None:
    first, then = Trigger.parse("committed-ahead:app:1 from 3 or after 8").in_turn()
    assert str(first) == "committed-ahead:app:1 from 3 or after 8"
    assert str(then) == "in-flight:app:1 from 11"
    assert Trigger.parse("isr-shrink or after 5").in_turn() == (Trigger.parse("isr-shrink or after 5"),)


def test_a_stop_while_waiting_records_the_events_that_did_not_begin(fake_run) -> None:
    fake_run.stop.arrange(5, fake_run.stop.set)
    fake_run.carry_out(
        kill(1, after="acks:100", lasting=2), kill(2, at=1, lasting=50), pause(3, after="acks:1", lasting=1)
    )
    assert fake_run.stop.now < 106
    assert fake_run.cluster.clean()
    for waiting in ("kill-0", "pause-2"):
        assert fake_run.value(waiting, "inject")["evidence"] == {
            "skipped": "the run was stopped before its time"
        }
        assert fake_run.effective()[waiting, "heal"] is True
    assert len(fake_run.rows) == 6


def test_an_unanswered_request_is_repeated(fake_run, monkeypatch) -> None:
    usual = fake_run.cluster.controller

    def answers() -> int:
        if fake_run.stop.now < 105:
            raise OSError("no broker answers")
        return usual()

    monkeypatch.setattr(fake_run.cluster, "controller", answers)
    fake_run.stop.arrange(8, lambda: setattr(fake_run.cluster, "active_controller", 1))
    fake_run.carry_out(kill(2, after="controller-change", lasting=2))
    assert fake_run.times("inject")["kill-0"] == pytest.approx(8, abs=0.3)
