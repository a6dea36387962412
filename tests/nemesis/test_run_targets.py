"""A run finds the targets of its events when they begin."""

from __future__ import annotations

import pytest

from nemesis.schedule import Schedule
from pytest_kafkacheck import isolate, kill, partition, pause


def test_the_leader_is_the_same_node_after_its_isr_shrank(fake_run) -> None:
    fake_run.carry_out(
        partition("leader", plane="replication", at=2, lasting=7), kill("leader", at=8, lasting=10)
    )
    assert (
        fake_run.value("partition-0", "inject")["nodes"] == fake_run.value("kill-1", "inject")["nodes"] == [2]
    )
    assert all(fake_run.effective().values())


def test_targets_are_resolved_at_the_injection(fake_run) -> None:
    fake_run.stop.arrange(3, lambda: fake_run.cluster.leaders.update({("log", 0): 3}))
    fake_run.carry_out(isolate("leader", at=1, lasting=1), isolate("leader", at=5, lasting=1))
    assert fake_run.value("isolate-0", "inject")["nodes"] == [2]
    assert fake_run.value("isolate-1", "inject")["nodes"] == [3]


def test_an_injection_does_not_wait_for_brokers_that_are_silent(fake_run, monkeypatch) -> None:
    """A view waits a moment for them when it looks for the first time."""
    cluster, looks = fake_run.cluster, []

    class View:
        replicas, isr, close = map(staticmethod, (cluster.replicas, cluster.isr, cluster.close))

        def leader(self, topic, partition):
            if self not in looks:
                looks.append(self)
                fake_run.stop.wait(0.2)
            return cluster.leader(topic, partition)

    monkeypatch.setattr(cluster, "quick", View)
    fake_run.carry_out(pause("leader", at=0, lasting=9), isolate("leader", at=5, lasting=2))
    assert fake_run.times("inject") == {"pause-0": pytest.approx(0.2), "isolate-1": 5}
    assert fake_run.times("heal") == {"pause-0": pytest.approx(9.2), "isolate-1": 7}
    assert len(looks) == 2


def test_an_injection_at_a_coordinator_does_not_wait_for_brokers_that_are_silent(
    fake_run, monkeypatch
) -> None:
    cluster, looks = fake_run.cluster, []

    def coordinator(kind: str, name: str) -> int:
        looks.append((kind, name))
        if len(looks) in (1, 3):  # the first look at each
            fake_run.stop.wait(0.2)
        return 1

    monkeypatch.setattr(cluster, "coordinator", coordinator)
    fake_run.carry_out(
        pause("coordinator:readers", at=2, lasting=2), pause("transaction-coordinator:t", at=6, lasting=2)
    )
    assert fake_run.times("inject") == {"pause-0": 2, "pause-1": 6}
    assert looks == [("group", "readers")] * 2 + [("transaction", "t")] * 2


def test_an_injection_does_not_wait_for_answers(fake_run, monkeypatch) -> None:
    """An in-sync follower takes three questions, and a busy cluster answers none of them at once."""
    cluster = fake_run.cluster

    def slowly(question):
        def ask(*args):
            fake_run.stop.wait(0.03)
            return question(*args)

        return ask

    for name in ("leader", "isr", "replicas"):
        monkeypatch.setattr(cluster, name, slowly(getattr(cluster, name)))
    fake_run.carry_out(isolate("follower", at=2, lasting=1), isolate("follower", at=5, lasting=2))
    assert fake_run.times("inject") == {"isolate-0": 2, "isolate-1": 5}


def test_a_fault_of_a_missing_leader_has_no_effect_and_the_run_continues(fake_run) -> None:
    fake_run.cluster.leaders = {("log", 1): None}
    fake_run.carry_out(kill("leader:1", at=0, lasting=50), kill("leader", at=8, lasting=2))
    value = fake_run.value("kill-0", "inject")
    assert (value["effective"], value["nodes"]) == (False, [])
    assert "log-1 has no leader" in value["evidence"]["unresolved"]
    assert fake_run.times("heal")["kill-0"] <= 6, "healed at once, as there is nothing to heal"
    assert fake_run.effective()[("kill-1", "inject")] is True


def test_a_leader_that_is_being_elected_is_waited_for(fake_run) -> None:
    fake_run.cluster.leaders = {("log", 0): None}
    fake_run.stop.arrange(3, lambda: fake_run.cluster.leaders.update({("log", 0): 1}))
    fake_run.carry_out(kill("leader", at=1, lasting=2))
    assert fake_run.value("kill-0", "inject")["nodes"] == [1]


def test_random_targets_depend_on_seed_and_event_alone(new_fake_run) -> None:
    def targets(seed: int, *keep: int) -> dict[str, list[int]]:
        events = Schedule.of([pause("random", at=6 * at, lasting=2) for at in range(6)]).events
        fake_run = new_fake_run().carry_out(*[events[index] for index in keep], seed=seed)
        return {row["value"]["event"]: row["value"]["nodes"] for row in fake_run.rows}

    whole = targets(1, *range(6))
    assert targets(1, *range(6)) == whole
    assert targets(1, 1, 4) == {id: whole[id] for id in ("pause-1", "pause-4")}
    assert len({tuple(nodes) for nodes in whole.values()}) > 1
    assert targets(2, *range(6)) != whole
