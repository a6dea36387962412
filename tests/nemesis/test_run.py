"""A run of a schedule: its times, how it ends, and that nothing is left behind."""

from __future__ import annotations

import dataclasses
from types import SimpleNamespace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from nemesis.schedule import Schedule
from pytest_kafkacheck import configure, cpu, cut_clients, isolate, kill, partition, pause, reassign


def test_events_begin_at_their_times_and_last_as_long_as_wanted(fake_run) -> None:
    fake_run.carry_out(
        isolate(1, at=2, lasting=3.5), kill("controller", at=20, lasting=1), pause(2, at=7.25, lasting=2)
    )
    assert fake_run.times("inject") == {"isolate-0": 2, "pause-2": 7.25, "kill-1": 20}
    assert fake_run.times("heal") == {"isolate-0": 5.5, "pause-2": 9.25, "kill-1": 21}


def test_a_heal_comes_before_an_injection_of_the_same_time(fake_run) -> None:
    fake_run.carry_out(isolate(1, at=5, lasting=5), isolate(2, at=0, lasting=5))
    assert [(row["value"]["event"], row["value"]["stage"]) for row in fake_run.rows][1] == (
        "isolate-1",
        "heal",
    )


def slow(fake_run, node: int, name: str, seconds: float) -> None:
    """Let a node take that long for an action."""
    at_once = getattr(fake_run.cluster.nodes[node], name)

    def action() -> None:
        fake_run.stop.wait(seconds)
        at_once()

    setattr(fake_run.cluster.nodes[node], name, action)


def test_a_slow_action_delays_no_other_event_and_keeps_its_end(fake_run) -> None:
    slow(fake_run, 1, "kill", 3)
    fake_run.carry_out(kill(1, at=1, lasting=6), pause(2, at=2, lasting=5), pause(3, at=6, lasting=2))
    assert fake_run.times("inject") == {"kill-0": 1, "pause-1": 2, "pause-2": 6}
    assert fake_run.times("heal") == {"kill-0": 7, "pause-1": 7, "pause-2": 8}
    assert all(fake_run.effective().values())


def test_an_action_that_takes_longer_than_its_event_is_healed_at_once_and_says_how_late(fake_run) -> None:
    slow(fake_run, 1, "kill", 3)
    fake_run.carry_out(kill(1, at=1, lasting=2))
    assert fake_run.times("heal") == {"kill-0": pytest.approx(4, abs=0.05)}
    assert fake_run.effective() == {("kill-0", "inject"): True, ("kill-0", "heal"): True}
    assert fake_run.value("kill-0", "heal")["planned"] == 103 * 10**9


def test_a_proof_ends_when_the_heal_is_due(fake_run) -> None:
    """Nothing shows the limit, and its proof would wait for 10 s."""
    fake_run.cluster.nodes[1].ignores.add("limit_cpu")
    fake_run.carry_out(cpu(1, at=1, lasting=4), pause(2, at=2, lasting=2))
    assert fake_run.times("heal")["cpu-0"] == pytest.approx(5, abs=0.1)
    assert fake_run.effective()["cpu-0", "inject"] is False


def test_a_heal_does_not_wait_for_a_request_of_its_own_proof(fake_run, monkeypatch) -> None:
    def silent(_: int) -> bool:
        fake_run.stop.wait(5)
        return False

    monkeypatch.setattr(fake_run.cluster, "answers", silent)
    fake_run.carry_out(cut_clients(1, at=1, lasting=2))
    assert fake_run.times("heal")["cut-clients-0"] == pytest.approx(3, abs=0.1)
    value = fake_run.value("cut-clients-0", "inject")
    assert (value["effective"], list(value["evidence"])) == (False, ["proof"])
    assert "surely" not in fake_run.value("cut-clients-0", "heal")["active"]
    assert fake_run.cluster.clean()


def test_a_process_is_not_stopped_before_the_heal_of_the_fault_that_held_it(fake_run) -> None:
    """The pause ends when the kill is due, and it takes 3 s to end it."""
    slow(fake_run, 1, "thaw", 3)
    fake_run.carry_out(pause(1, at=0, lasting=5), kill(1, at=5, lasting=5))
    assert fake_run.times("inject")["kill-1"] == pytest.approx(8, abs=0.1)
    assert fake_run.value("kill-1", "inject")["evidence"]["before"] == "running"


def test_an_injection_waits_no_longer_than_a_moment_for_the_heal_of_another_kind(fake_run) -> None:
    slow(fake_run, 1, "start", 3)
    fake_run.carry_out(kill(1, at=0, lasting=5), cpu(2, at=5, lasting=5))
    assert fake_run.times("inject")["cpu-1"] == pytest.approx(5.1, abs=0.05)


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


@pytest.mark.parametrize("fault", [reassign, lambda **t: configure({"retention.ms": 7}, **t)])
def test_an_event_that_restores_the_same_object_waits_for_a_late_heal(fake_run, fault) -> None:
    """The two do not overlap in the schedule. The heal of the first one takes 4 s."""
    before = dict(fake_run.cluster.kafka.topic_settings), fake_run.cluster.assignment
    slow_down(fake_run, fake_run.stop.time() + 5)
    fake_run.carry_out(fault(at=2, lasting=3), fault(at=6, lasting=3))
    (first, _), (second, waited) = fake_run.times("inject").items()
    assert fake_run.times("heal")[first] == 5
    assert waited == pytest.approx(9, abs=0.2)
    assert fake_run.times("heal")[second] == pytest.approx(waited + 3, abs=0.2)
    assert (fake_run.cluster.kafka.topic_settings, fake_run.cluster.assignment) == before
    assert all(
        fake_run.effective()[event, stage] for event in (first, second) for stage in ("inject", "heal")
    )


def slow_down(fake_run, since: float) -> None:
    """From then on, the next change of the topic takes 4 s."""
    kafka, slept = fake_run.cluster.kafka, []
    for name in ("reassign", "configure_topic"):
        at_once = getattr(kafka, name)

        def action(*arguments, at_once=at_once) -> None:
            if not slept and fake_run.stop.now >= since:
                slept.append(fake_run.stop.wait(4))
            at_once(*arguments)

        setattr(kafka, name, action)


def test_an_event_that_waits_for_a_late_heal_is_not_injected_after_a_stop(fake_run) -> None:
    slow_down(fake_run, fake_run.stop.time() + 5)
    fake_run.stop.arrange(8, fake_run.stop.set)
    fake_run.carry_out(reassign(at=2, lasting=3), reassign(at=6, lasting=3))
    assert fake_run.value("reassign-1", "inject")["evidence"] == {
        "skipped": "the run was stopped before its time"
    }
    assert fake_run.cluster.assignment == (2, 3, 1)


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


def test_a_stop_heals_at_once_and_records_events_that_did_not_begin(fake_run) -> None:
    fake_run.stop.arrange(3, fake_run.stop.set)
    fake_run.carry_out(isolate(1, at=1, lasting=60), pause(2, at=1.5, lasting=60), kill(3, at=50, lasting=5))
    assert fake_run.cluster.clean()
    assert fake_run.stop.now < 104
    assert fake_run.effective() == {
        ("isolate-0", "inject"): True,
        ("pause-1", "inject"): True,
        ("isolate-0", "heal"): True,
        ("pause-1", "heal"): True,
        ("kill-2", "inject"): False,
        ("kill-2", "heal"): True,
    }
    assert "stopped before its time" in fake_run.value("kill-2", "inject")["evidence"]["skipped"]


def test_an_early_end_heals_at_once_verifies_that_and_injects_no_more(fake_run) -> None:
    fake_run.finish_after(3)
    fake_run.carry_out(
        isolate(1, at=1, lasting=60), kill(2, at=1.5, lasting=60), pause(3, at=50, lasting=5),
        pause(3, after="acks:1000000", lasting=5),
    )  # fmt: skip
    assert fake_run.cluster.clean()
    assert fake_run.stop.now < 110
    assert fake_run.effective() == {
        ("isolate-0", "inject"): True,
        ("kill-1", "inject"): True,
        ("isolate-0", "heal"): True,
        ("kill-1", "heal"): True,
        ("pause-2", "inject"): False,
        ("pause-2", "heal"): True,
        ("pause-3", "inject"): False,
        ("pause-3", "heal"): True,
    }
    assert fake_run.times("heal")["isolate-0"] == pytest.approx(3, abs=0.1)


def test_a_stop_does_not_wait_for_a_broker_to_serve(fake_run) -> None:
    fake_run.stop.arrange(3, fake_run.stop.set)
    fake_run.carry_out(kill(3, at=1, lasting=60))
    assert fake_run.cluster.clean()
    assert fake_run.stop.now < 104
    assert fake_run.value("kill-0", "heal")["effective"] is False, "that it serves was not seen"


def test_a_failing_action_is_recorded_and_the_run_continues(fake_run) -> None:
    fake_run.cluster.nodes[1].nft_error = "Operation not permitted"
    fake_run.stop.arrange(4, lambda: setattr(fake_run.cluster.nodes[1], "nft_error", None))
    fake_run.carry_out(isolate(2, at=0, lasting=3), isolate(2, at=6, lasting=3))
    row = fake_run.row("isolate-0", "inject")
    assert row["error"] == "NetworkError: node 1: nft exited with status 1: Operation not permitted"
    assert row["value"]["effective"] is False
    assert row["value"]["nodes"] == [2]
    assert fake_run.value("isolate-0", "heal")["effective"] is False
    assert fake_run.effective()[("isolate-1", "inject")] is True
    assert fake_run.effective()[("isolate-1", "heal")] is True
    assert fake_run.cluster.clean()


def test_a_request_to_the_cluster_that_fails_is_recorded(fake_run, monkeypatch) -> None:
    monkeypatch.setattr(fake_run.cluster, "controller", lambda: 1 // 0)
    fake_run.carry_out(kill("controller", at=0, lasting=3))
    assert fake_run.row("kill-0", "inject")["error"].startswith("ZeroDivisionError")
    assert len(fake_run.rows) == 2


@pytest.mark.parametrize("fails_at", range(4))
def test_a_history_that_cannot_be_written_ends_the_run_with_everything_healed(fake_run, fails_at) -> None:
    rows: list[object] = []

    def record(row: object) -> None:
        if len(rows) >= fails_at:
            raise OSError("no space left on device")
        rows.append(row)

    fake_run.rows = SimpleNamespace(append=record)
    with pytest.raises(OSError, match="no space left"):
        fake_run.carry_out(isolate(1, at=0, lasting=20), pause(2, at=4, lasting=20))
    assert fake_run.cluster.clean()


@pytest.mark.parametrize("where", ["freeze", "kill", "start", "thaw"])
def test_an_interrupt_leaves_nothing_behind(fake_run, monkeypatch, where) -> None:
    for node in fake_run.cluster.nodes.values():
        usual = getattr(node, where)
        calls: list[int] = []

        def interrupted(usual=usual, calls=calls) -> None:
            usual()
            if not calls:
                calls.append(1)
                raise KeyboardInterrupt

        monkeypatch.setattr(node, where, interrupted)
    with pytest.raises(KeyboardInterrupt):
        fake_run.carry_out(isolate(1, at=0, lasting=30), pause(2, at=2, lasting=9), kill(3, at=4, lasting=9))
    assert fake_run.cluster.clean()


def test_without_events_there_are_no_rows(fake_run) -> None:
    assert fake_run.carry_out().rows == []


EVENTS = st.lists(
    st.builds(
        lambda make, target, at, lasting: make(target, at=at, lasting=lasting),
        st.sampled_from([kill, pause, isolate, lambda *a, **k: partition(*a, plane="replication", **k)]),
        st.sampled_from([1, 2, 3, "leader", "follower", "one"]),
        st.floats(0, 20),
        st.floats(0.1, 20),
    ),
    max_size=5,
)


@settings(max_examples=80, deadline=None)
@given(EVENTS, st.none() | st.floats(0, 40))
def test_any_schedule_stopped_or_not_leaves_nothing_and_records_every_stage_once(
    new_fake_run, events, stopped
) -> None:
    fake_run = new_fake_run()
    if stopped is not None:
        fake_run.stop.arrange(stopped, fake_run.stop.set)
    schedule = Schedule.of(events)
    fake_run.carry_out(*schedule.events)
    assert fake_run.cluster.clean()
    assert set(fake_run.effective()) == {
        (e.id, stage) for e in schedule.events for stage in ("inject", "heal")
    }
    assert len(fake_run.rows) == 2 * len(schedule.events)
    assert all(row["error"] is None for row in fake_run.rows)
    if stopped is None:
        # In a cluster where everything works, only a pause of a dead broker has no effect.
        weak = {f"{e.id}" for e in schedule.events if e.fault.name == "pause"}
        ineffective = {event for (event, _), effective in fake_run.effective().items() if not effective}
        assert ineffective <= weak
        for event in ineffective:
            assert fake_run.value(event, "inject")["evidence"]["not_paused_because_of"]


def test_events_of_a_schedule_can_be_changed_as_values() -> None:
    event = kill(1, at=1, lasting=1)
    assert dataclasses.replace(event, at=2) == kill(1, at=2, lasting=1)
