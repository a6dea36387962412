"""When a run injects and heals, and which event waits for which."""

from __future__ import annotations

import pytest

from pytest_kafkacheck import configure, cpu, cut_clients, isolate, kill, pause, reassign


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


def test_an_injection_that_waited_for_its_turn_asks_for_its_target_again(fake_run) -> None:
    slow(fake_run, 1, "thaw", 3)
    fake_run.stop.arrange(6, lambda: fake_run.cluster.leaders.update({("log", 0): 3}))
    fake_run.carry_out(pause(1, at=0, lasting=5), kill("leader", at=5, lasting=5))
    assert fake_run.times("inject")["kill-1"] == pytest.approx(8, abs=0.1)
    assert fake_run.value("kill-1", "inject")["nodes"] == [3]


def test_an_injection_waits_no_longer_than_a_moment_for_the_heal_of_another_kind(fake_run) -> None:
    slow(fake_run, 1, "start", 3)
    fake_run.carry_out(kill(1, at=0, lasting=5), cpu(2, at=5, lasting=5))
    assert fake_run.times("inject")["cpu-1"] == pytest.approx(5.1, abs=0.05)


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
