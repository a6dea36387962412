"""Faults of clients, on the fake cluster."""

from __future__ import annotations

from typing import Any

import pytest

from nemesis.targets import parse
from pytest_kafkacheck import (
    cpu_app,
    isolate_app,
    isolate_client,
    kill_client,
    memory_app,
    pause_client,
    stop_client,
)
from tests.support.fault_cases import Case, on_clients

CASES: dict[str, Case] = {
    "kill-client": Case(
        make=lambda **t: kill_client("client:0", **t), breaks=on_clients("kill"), heal=on_clients("replace")
    ),
    "stop-client": Case(
        make=lambda **t: stop_client("client:0", **t), breaks=on_clients("stop"), heal=on_clients("replace")
    ),
    "pause-client": Case(
        make=lambda **t: pause_client("client:0", **t), breaks=on_clients("pause"), heal=on_clients("resume")
    ),
    "isolate-client": Case(
        make=lambda **t: isolate_client("client:0", **t),
        breaks=on_clients("isolate"),
        heal=on_clients("connect"),
    ),
    "isolate-app": Case(
        make=lambda **t: isolate_app("client:0", **t),
        breaks=on_clients("isolate"),
        heal=on_clients("connect"),
    ),
    "cpu-app": Case(
        make=lambda **t: cpu_app("client:0", **t),
        breaks=on_clients("limit-cpu"),
        heal=on_clients("lift-cpu"),
        valid=({"cores": 0.5},),
        wrong=(({"cores": 0}, "cpu cores=0: expected a number, 0.01 or more"),),
    ),
    "memory-app": Case(
        make=lambda **t: memory_app("client:0", **t),
        breaks=on_clients("limit-memory"),
        heal=on_clients("lift-memory"),
        valid=({"spare_mb": 0},),
        wrong=(({"spare_mb": -1}, "memory spare_mb=-1: expected a whole number, 0 or more"),),
    ),
}


@pytest.mark.parametrize(("name", "lift"), [("cpu-app", "cores"), ("memory-app", "bytes")])
def test_a_limit_that_another_one_lifted_is_reported(fake_run, name, lift) -> None:
    fake_run.stop.arrange(5, getattr(fake_run.clients, lift).clear)
    fake_run.carry_out(CASES[name].event())
    assert fake_run.effective() == {(f"{name}-0", "inject"): True, (f"{name}-0", "heal"): False}
    assert "ended_early" in fake_run.value(f"{name}-0", "heal")["evidence"]


@pytest.mark.parametrize("asked", ["paused", "isolated"])
def test_a_client_is_released_although_its_state_cannot_be_read(fake_run, monkeypatch, asked) -> None:
    name = {"paused": "pause-client", "isolated": "isolate-client"}[asked]

    def fail(_: int) -> bool:
        raise OSError("gone")

    fake_run.stop.arrange(5, lambda: monkeypatch.setattr(fake_run.clients, asked, fail))
    fake_run.carry_out(CASES[name].event())
    assert fake_run.row(f"{name}-0", "heal")["error"]
    assert (fake_run.clients.standing, fake_run.clients.alone) == (set(), {})


@pytest.mark.parametrize("where", ["pause", "isolate", "resume", "connect", "replace"])
def test_an_interrupt_releases_every_client(fake_run, monkeypatch, where) -> None:
    usual = getattr(fake_run.clients, where)
    calls: list[int] = []

    def interrupted(process: int) -> Any:
        if not calls:
            calls.append(1)
            raise KeyboardInterrupt
        return usual(process)

    monkeypatch.setattr(fake_run.clients, where, interrupted)
    with pytest.raises(KeyboardInterrupt):
        fake_run.carry_out(
            CASES["pause-client"].event(target=parse("client:0")),
            CASES["isolate-client"].event(target=parse("client:2")),
            CASES["kill-client"].event(target=parse("client:3")),
        )
    assert (fake_run.clients.standing, fake_run.clients.alone) == (set(), {})
    assert sorted(fake_run.clients.running.values()) == ["producer", "producer", "reader", "session"]
