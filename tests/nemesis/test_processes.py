"""Kill and pause: seen to happen, seen to end, alone and on top of other faults."""

from __future__ import annotations

import pytest

from pytest_kafkacheck import isolate, kill, pause


def states(drama, node: int, *times: float) -> dict[float, str]:
    """The states a node is seen in during a run, by time; filled while it is played."""
    seen: dict[float, str] = {}
    for time in times:
        drama.stop.arrange(time, lambda time=time: seen.update({time: drama.cluster.nodes[node].state()}))
    return seen


def test_kill_and_start(drama) -> None:
    seen = states(drama, 2, 0.5, 3, 7)
    drama.play(kill("leader", at=1, lasting=5))
    assert seen == {0.5: "running", 3: "stopped", 7: "running"}
    assert all(drama.effective().values())
    injected = drama.value("kill-0", "inject")["evidence"]
    assert (injected["before"], injected["state"], injected["exit_code"]) == ("running", "stopped", 137)
    healed = drama.value("kill-0", "heal")["evidence"]
    assert (healed["new_incarnation"], healed["state"], healed["serving"]) == (True, "running", True)
    assert drama.row("kill-0", "heal")["completed"] >= 108 * 10**9  # boots for 2 s


def test_a_process_that_survives_its_kill_is_noticed(drama) -> None:
    drama.cluster.nodes[2].unkillable = True
    drama.play(kill(2, at=0, lasting=30))
    assert drama.value("kill-0", "inject")["effective"] is False
    assert drama.value("kill-0", "inject")["evidence"]["state"] == "running"
    assert drama.value("kill-0", "heal")["effective"] is False  # it never was started anew


def test_a_broker_that_never_serves_again_is_noticed(drama) -> None:
    drama.cluster.boot = 1000
    drama.play(kill(2, at=0, lasting=5))
    value = drama.value("kill-0", "heal")
    assert value["effective"] is False
    assert "not seen" in value["evidence"]["serving"]


def test_a_broker_that_does_not_start_is_recorded_and_so_is_the_last_resort(drama) -> None:
    drama.cluster.nodes[2].start_error = RuntimeError("no such image")
    drama.play(kill(2, at=0, lasting=5), pause(1, at=8, lasting=2))
    assert drama.row("kill-0", "heal")["error"] == "RuntimeError: no such image"
    assert drama.value("kill-0", "heal")["effective"] is False
    assert drama.effective()[("pause-1", "inject")] is True, "the run did not go on"
    assert drama.rows[-1]["f"] == "heal-all"
    assert drama.rows[-1]["value"]["effective"] is False


def test_the_last_resort_mends_what_a_heal_could_not(drama) -> None:
    node = drama.cluster.nodes[2]
    node.start_error = RuntimeError("busy")
    drama.stop.arrange(9, lambda: setattr(node, "start_error", None))
    drama.play(kill(2, at=0, lasting=5), pause(1, at=8, lasting=2))
    assert drama.cluster.clean()
    assert "heal-all" not in {row["f"] for row in drama.rows}


def test_a_broker_started_by_somebody_else_is_noticed(drama) -> None:
    drama.stop.arrange(3, drama.cluster.nodes[2].start)
    drama.play(kill(2, at=0, lasting=5))
    assert drama.value("kill-0", "inject")["effective"] is True
    assert drama.value("kill-0", "heal")["effective"] is False
    assert "ended_early" in drama.value("kill-0", "heal")["evidence"]


@pytest.mark.parametrize(
    ("error", "mechanism", "calls"),
    [(None, "freezer", ["freeze", "thaw"]), (OSError("busy"), "SIGSTOP", ["freeze", "STOP", "thaw", "CONT"])],
)
def test_pause_by_the_freezer_or_the_signal(drama, error, mechanism, calls) -> None:
    node = drama.cluster.nodes[3]
    node.freezer_error = error
    seen = states(drama, 3, 2)
    drama.play(pause("controller", at=1, lasting=4))
    assert seen == {2: "paused"}
    assert node.log == calls
    assert drama.value("pause-0", "inject")["evidence"]["mechanism"] == mechanism
    assert all(drama.effective().values())
    assert drama.cluster.clean()


def test_a_pause_that_stops_nothing_is_noticed(drama) -> None:
    drama.cluster.nodes[2].freeze = lambda: None
    drama.play(pause(2, at=0, lasting=10))
    assert drama.value("pause-0", "inject")["effective"] is False


def test_a_pause_that_ended_by_itself_is_noticed(drama) -> None:
    drama.stop.arrange(3, drama.cluster.nodes[2].thaw)
    drama.play(pause(2, at=0, lasting=5))
    assert drama.value("pause-0", "heal")["effective"] is False


def test_a_paused_node_can_be_killed_and_the_pause_does_not_start_it(drama) -> None:
    seen = states(drama, 2, 2, 4, 6, 11)
    drama.play(pause(2, at=1, lasting=4), kill(2, at=3, lasting=7))
    assert seen == {2: "paused", 4: "stopped", 6: "stopped", 11: "running"}
    assert all(drama.effective().values())
    assert drama.value("pause-0", "heal")["evidence"]["held_by"] == ["kill-1"]


def test_a_pause_that_outlasts_a_kill_goes_on_after_the_start(drama) -> None:
    seen = states(drama, 2, 4, 7)
    drama.play(pause(2, at=1, lasting=8), kill(2, at=3, lasting=3))
    assert seen == {4: "stopped", 7: "paused"}
    assert drama.cluster.clean()
    assert all(drama.effective().values())
    assert "not required while pause-0" in drama.value("kill-1", "heal")["evidence"]["serving"]


def test_a_killed_node_cannot_be_paused(drama) -> None:
    drama.play(kill(2, at=0, lasting=9), pause(2, at=2, lasting=2))
    assert drama.value("pause-1", "inject")["effective"] is False
    assert drama.value("pause-1", "inject")["evidence"]["not_paused_because_of"] == ["kill-0"]
    assert drama.effective()[("kill-0", "heal")] is True
    assert drama.cluster.nodes[2].log == ["kill", "start"]


def test_a_node_that_two_kills_keep_down_comes_up_after_the_second(drama) -> None:
    seen = states(drama, 2, 6, 9)
    drama.play(kill(2, at=0, lasting=5), kill(2, at=2, lasting=6))
    assert seen == {6: "stopped", 9: "running"}
    assert drama.cluster.nodes[2].log == ["kill", "start"]
    assert all(drama.effective().values())
    assert drama.value("kill-0", "heal")["evidence"]["held_by"] == ["kill-1"]


def test_an_isolated_node_is_not_asked_to_serve_after_its_kill(drama) -> None:
    drama.play(isolate(2, at=0, lasting=30), kill(2, at=5, lasting=5))
    assert all(drama.effective().values())
    assert "not required while isolate-0" in drama.value("kill-1", "heal")["evidence"]["serving"]
    assert drama.row("kill-1", "heal")["completed"] < 112 * 10**9


def test_the_next_event_does_not_wait_for_a_broker_to_recover(drama) -> None:
    drama.cluster.boot = 20
    drama.play(kill(2, at=0, lasting=5), kill(3, at=6, lasting=5))
    assert drama.times("inject") == {"kill-0": 0, "kill-1": 6}
    assert "not yet when the next event was due" in drama.value("kill-0", "heal")["evidence"]["serving"]
    assert drama.value("kill-1", "heal")["evidence"]["serving"] is True
