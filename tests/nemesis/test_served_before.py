"""Processes that did not serve just before a fault that ends them, or makes them stand still."""

from __future__ import annotations

import threading
from functools import partial

import pytest

from pytest_kafkacheck import (
    cpu,
    crash_loop,
    isolate,
    kill,
    log_dir_failure,
    oom,
    pause,
    restart,
    rolling_restart,
)
from pytest_kafkacheck import stop as stop_broker

FAULTS = {
    "kill": partial(kill, 1, lasting=20),
    "stop": partial(stop_broker, 1, lasting=20),
    "pause": partial(pause, 1, lasting=20),
    "restart": partial(restart, 1),
    "oom": partial(oom, 1, lasting=20),
    "crash-loop": partial(crash_loop, 1, lasting=20),
    "log-dir-failure": partial(log_dir_failure, 1, lasting=40),
    "rolling-restart": partial(rolling_restart, "1,2"),
}


def hang(fake_run) -> None:
    fake_run.cluster.nodes[1].is_serving = False


def evidence(fake_run, event: str) -> str:
    return str(fake_run.value(event, "inject")["evidence"])


@pytest.mark.parametrize("name", FAULTS)
def test_a_process_that_serves_is_struck(fake_run, name) -> None:
    fake_run.carry_out(FAULTS[name](at=5))
    assert fake_run.effective()[f"{name}-0", "inject"] is True
    assert "'served_before': True" in evidence(fake_run, f"{name}-0")
    assert fake_run.times("inject") == {f"{name}-0": 5}


@pytest.mark.parametrize("name", FAULTS)
def test_a_process_that_hangs_is_not_struck(fake_run, name) -> None:
    hang(fake_run)
    fake_run.carry_out(FAULTS[name](at=5))
    assert fake_run.effective()[f"{name}-0", "inject"] is False
    assert "'served_before': False" in evidence(fake_run, f"{name}-0")


def test_a_process_that_boots_is_not_struck(fake_run) -> None:
    fake_run.cluster.boot, fake_run.cluster.nodes[1].started_at = 30, fake_run.stop.now
    fake_run.carry_out(kill(1, at=5, lasting=10))
    assert fake_run.effective()["kill-0", "inject"] is False
    assert "booting, hung or fenced" in evidence(fake_run, "kill-0")


@pytest.mark.parametrize(("hangs_at", "is_struck"), [(9, True), (2, False)])
def test_a_process_must_have_served_in_the_last_seconds(fake_run, hangs_at, is_struck) -> None:
    fake_run.stop.arrange(hangs_at, lambda: hang(fake_run))
    fake_run.carry_out(kill(1, at=10, lasting=10))
    assert fake_run.effective()["kill-0", "inject"] is is_struck


def test_a_trigger_leaves_time_to_observe(fake_run) -> None:
    hang(fake_run)
    fake_run.clients.acks = lambda: int(fake_run.stop.now - 100)
    fake_run.carry_out(kill(1, after="acks:5", lasting=10), kill(2, after="acks:5", lasting=10))
    assert fake_run.effective()["kill-0", "inject"] is False
    assert fake_run.effective()["kill-1", "inject"] is True
    assert "'served_before': True" in evidence(fake_run, "kill-1")


def test_the_beginning_of_a_schedule_leaves_no_time_to_observe(fake_run) -> None:
    """What a look finds after the injection is the fault's own doing."""
    fake_run.carry_out(kill(1, at=0, lasting=10))
    assert fake_run.effective()["kill-0", "inject"] is True
    assert "'served_before': 'not observed'" in evidence(fake_run, "kill-0")


def test_another_fault_explains_that_a_process_does_not_serve(fake_run) -> None:
    fake_run.cluster.boot = 20
    fake_run.carry_out(
        isolate(1, at=1, lasting=10),
        kill(1, at=6, lasting=2),
        kill(1, at=15, lasting=2),
        kill(2, at=22, lasting=2),
    )
    assert all(fake_run.effective().values())
    assert "because of isolate-0" in evidence(fake_run, "kill-1")
    assert "kill-1" in evidence(fake_run, "kill-2"), "it boots after the first kill"


@pytest.mark.parametrize(
    "other", [cpu(2, at=1, lasting=20), kill(1, at=1, lasting=1)], ids=["of another node", "long ago"]
)
def test_other_faults_do_not_explain_it(fake_run, other) -> None:
    fake_run.stop.arrange(70, lambda: hang(fake_run))
    fake_run.carry_out(other, kill(1, at=100, lasting=10))
    assert fake_run.effective()["kill-1", "inject"] is False


@pytest.mark.parametrize("served", [True, False])
def test_the_state_at_the_heal_proves_a_pause_whose_proof_had_not_ended(
    fake_run, monkeypatch, served
) -> None:
    if not served:
        hang(fake_run)
    state = type(fake_run.cluster.nodes[1]).state

    def slow_state(node):
        if threading.current_thread().name == "nemesis-pause-0-proof":
            fake_run.stop.wait(3)
        return state(node)

    monkeypatch.setattr(type(fake_run.cluster.nodes[1]), "state", slow_state)
    fake_run.carry_out(pause(1, at=5, lasting=2))
    inject, heal = (fake_run.value("pause-0", stage) for stage in ("inject", "heal"))
    assert (inject["effective"], list(inject["evidence"])) == (False, ["proof"])
    assert heal.get("had_effect", False) is served
