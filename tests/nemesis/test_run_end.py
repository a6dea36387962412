"""How a run ends: stopped, finished early, failed or interrupted, nothing is left behind."""

from __future__ import annotations

import dataclasses
from types import SimpleNamespace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from nemesis.schedule import Schedule
from pytest_kafkacheck import isolate, kill, pause
from tests.support.fake_cluster.events import EVENTS
from tests.support.repetitions import repetitions


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


@settings(max_examples=repetitions(80, shorter=30), deadline=None)
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
