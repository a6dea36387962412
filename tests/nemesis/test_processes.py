"""Kills and pauses are proved and healed, alone and while other faults are at work."""

from __future__ import annotations

import pytest

from pytest_kafkacheck import isolate, kill, pause, stop


def states(fake_run, node: int, *times: float) -> dict[float, str]:
    """The states a node is seen in during a run, by time; filled while it is played."""
    seen: dict[float, str] = {}
    for time in times:
        fake_run.stop.arrange(
            time, lambda time=time: seen.update({time: fake_run.cluster.nodes[node].state()})
        )
    return seen


def test_a_killed_broker_is_started_at_the_end(fake_run) -> None:
    seen = states(fake_run, 2, 0.5, 3, 7)
    fake_run.carry_out(kill("leader", at=1, lasting=5))
    assert seen == {0.5: "running", 3: "stopped", 7: "running"}
    assert all(fake_run.effective().values())
    injected = fake_run.value("kill-0", "inject")["evidence"]
    assert (injected["before"], injected["state"], injected["exit_code"]) == ("running", "stopped", 137)
    healed = fake_run.value("kill-0", "heal")["evidence"]
    assert (healed["new_incarnation"], healed["state"], healed["serving"]) == (True, "running", True)
    assert fake_run.row("kill-0", "heal")["completed"] >= 108 * 10**9  # boots for 2 s


def test_a_process_that_survives_its_kill_is_noticed(fake_run) -> None:
    fake_run.cluster.nodes[2].unkillable = True
    fake_run.carry_out(kill(2, at=0, lasting=30))
    assert fake_run.value("kill-0", "inject")["effective"] is False
    assert fake_run.value("kill-0", "inject")["evidence"]["state"] == "running"
    assert fake_run.value("kill-0", "heal")["effective"] is False  # it never was started anew


def test_a_broker_that_does_not_serve_again_is_noticed(fake_run) -> None:
    fake_run.cluster.boot = 1000
    fake_run.carry_out(kill(2, at=0, lasting=5))
    value = fake_run.value("kill-0", "heal")
    assert value["effective"] is False
    assert "not seen" in value["evidence"]["serving"]


def test_a_broker_that_does_not_start_is_recorded_by_the_heal_and_at_the_end(fake_run) -> None:
    fake_run.cluster.nodes[2].start_error = RuntimeError("no such image")
    fake_run.carry_out(kill(2, at=0, lasting=5), pause(1, at=8, lasting=2))
    assert fake_run.row("kill-0", "heal")["error"] == "RuntimeError: no such image"
    assert fake_run.value("kill-0", "heal")["effective"] is False
    assert fake_run.effective()[("pause-1", "inject")] is True, "the run did not go on"
    assert fake_run.rows[-1]["f"] == "heal-all"
    assert fake_run.rows[-1]["value"]["effective"] is False


def test_the_end_of_the_run_repeats_a_failed_heal(fake_run) -> None:
    node = fake_run.cluster.nodes[2]
    node.start_error = RuntimeError("busy")
    fake_run.stop.arrange(9, lambda: setattr(node, "start_error", None))
    fake_run.carry_out(kill(2, at=0, lasting=5), pause(1, at=8, lasting=2))
    assert fake_run.cluster.clean()
    assert "heal-all" not in {row["f"] for row in fake_run.rows}


def test_a_broker_that_something_else_started_is_noticed(fake_run) -> None:
    fake_run.stop.arrange(3, fake_run.cluster.nodes[2].start)
    fake_run.carry_out(kill(2, at=0, lasting=5))
    assert fake_run.value("kill-0", "inject")["effective"] is True
    assert fake_run.value("kill-0", "heal")["effective"] is False
    assert "ended_early" in fake_run.value("kill-0", "heal")["evidence"]


@pytest.mark.parametrize(
    ("error", "mechanism", "calls"),
    [(None, "freezer", ["freeze", "thaw"]), (OSError("busy"), "SIGSTOP", ["freeze", "STOP", "thaw", "CONT"])],
)
def test_a_pause_uses_the_freezer_or_the_signal(fake_run, error, mechanism, calls) -> None:
    node = fake_run.cluster.nodes[3]
    node.freezer_error = error
    seen = states(fake_run, 3, 2)
    fake_run.carry_out(pause("controller", at=1, lasting=4))
    assert seen == {2: "paused"}
    assert node.log == calls
    assert fake_run.value("pause-0", "inject")["evidence"]["mechanism"] == mechanism
    assert all(fake_run.effective().values())
    assert fake_run.cluster.clean()


def test_a_pause_without_effect_is_noticed(fake_run) -> None:
    fake_run.cluster.nodes[2].freeze = lambda: None
    fake_run.carry_out(pause(2, at=0, lasting=10))
    assert fake_run.value("pause-0", "inject")["effective"] is False


def test_a_pause_that_ended_by_itself_is_noticed(fake_run) -> None:
    fake_run.stop.arrange(3, fake_run.cluster.nodes[2].thaw)
    fake_run.carry_out(pause(2, at=0, lasting=5))
    assert fake_run.value("pause-0", "heal")["effective"] is False


def test_the_end_of_a_pause_does_not_start_a_killed_node(fake_run) -> None:
    seen = states(fake_run, 2, 2, 4, 6, 11)
    fake_run.carry_out(pause(2, at=1, lasting=4), kill(2, at=3, lasting=7))
    assert seen == {2: "paused", 4: "stopped", 6: "stopped", 11: "running"}
    assert all(fake_run.effective().values())
    assert fake_run.value("pause-0", "heal")["evidence"]["held_by"] == ["kill-1"]


def test_a_pause_that_outlasts_a_kill_continues_after_the_start(fake_run) -> None:
    seen = states(fake_run, 2, 4, 7)
    fake_run.carry_out(pause(2, at=1, lasting=8), kill(2, at=3, lasting=3))
    assert seen == {4: "stopped", 7: "paused"}
    assert fake_run.cluster.clean()
    assert all(fake_run.effective().values())
    assert "not required while pause-0" in fake_run.value("kill-1", "heal")["evidence"]["serving"]


def test_a_killed_node_cannot_be_paused(fake_run) -> None:
    fake_run.carry_out(kill(2, at=0, lasting=9), pause(2, at=2, lasting=2))
    assert fake_run.value("pause-1", "inject")["effective"] is False
    assert fake_run.value("pause-1", "inject")["evidence"]["not_paused_because_of"] == ["kill-0"]
    assert fake_run.effective()[("kill-0", "heal")] is True
    assert fake_run.cluster.nodes[2].log == ["kill", "start"]


def test_a_node_that_two_kills_keep_down_starts_after_the_second(fake_run) -> None:
    seen = states(fake_run, 2, 6, 9)
    fake_run.carry_out(kill(2, at=0, lasting=5), kill(2, at=2, lasting=6))
    assert seen == {6: "stopped", 9: "running"}
    assert fake_run.cluster.nodes[2].log == ["kill", "start"]
    assert all(fake_run.effective().values())
    assert fake_run.value("kill-0", "heal")["evidence"]["held_by"] == ["kill-1"]


def test_an_isolated_node_need_not_serve_after_its_kill(fake_run) -> None:
    fake_run.carry_out(isolate(2, at=0, lasting=30), kill(2, at=5, lasting=5))
    assert all(fake_run.effective().values())
    assert "not required while isolate-0" in fake_run.value("kill-1", "heal")["evidence"]["serving"]
    assert fake_run.row("kill-1", "heal")["completed"] < 112 * 10**9


def test_the_next_event_does_not_wait_for_a_broker_to_recover(fake_run) -> None:
    fake_run.cluster.boot = 20
    fake_run.carry_out(kill(2, at=0, lasting=5), kill(3, at=6, lasting=5))
    assert fake_run.times("inject") == {"kill-0": 0, "kill-1": 6}
    assert fake_run.value("kill-0", "heal")["evidence"]["serving"] == "not required while kill-1 goes on"
    assert fake_run.value("kill-1", "heal")["evidence"]["serving"] is True


@pytest.mark.parametrize("fault", [kill, pause, stop])
def test_a_broker_that_was_down_already_proves_no_fault(fake_run, fault) -> None:
    fake_run.cluster.nodes[2].kill()
    fake_run.carry_out(fault(2, at=1, lasting=2))
    value = fake_run.value(f"{fault.__name__}-0", "inject")
    assert value["effective"] is False
    assert value["evidence"]["before"] == "stopped"
    assert "before the fault" in value["evidence"]["nothing"]
    assert "surely" not in fake_run.value(f"{fault.__name__}-0", "heal")["active"]
