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
        breaks=on_clients("cut"),
        heal=on_clients("restore"),
        valid=({"brokers": "leader"}, {"brokers": "1,2", "one_way": "in"}, {"one_way": "out"}),
        wrong=(
            ({"one_way": "to"}, "isolate-client one_way='to': allowed are None, 'in', 'out'"),
            (
                {"brokers": "group:readers"},
                "isolate-client brokers='group:readers': expected brokers, such as",
            ),
            ({"brokers": "producer"}, "isolate-client brokers='producer': expected brokers"),
            ({"brokers": "nonsense"}, "isolate-client brokers='nonsense': expected brokers"),
        ),
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


def test_the_cut_of_a_process_that_another_fault_ends_has_ended_with_it(fake_run) -> None:
    """As in a soak: its run was unknown, because packets of a process that was gone could not be let through."""
    fake_run.carry_out(isolate_client("client:0", at=1, lasting=9), kill_client("client:0", at=3, lasting=20))
    assert set(fake_run.effective().values()) == {True}
    assert fake_run.value("isolate-client-0", "heal")["evidence"]["ended_early"] == "the process has ended"


@pytest.mark.parametrize("asked", ["paused", "dropped"])
def test_a_client_is_released_although_its_state_cannot_be_read(fake_run, monkeypatch, asked) -> None:
    name = {"paused": "pause-client", "dropped": "isolate-client"}[asked]

    def fail(*_: object) -> bool:
        raise OSError("gone")

    fake_run.stop.arrange(5, lambda: monkeypatch.setattr(fake_run.clients, asked, fail))
    fake_run.carry_out(CASES[name].event())
    assert fake_run.row(f"{name}-0", "heal")["error"]
    assert (fake_run.clients.standing, fake_run.clients.cuts) == (set(), {})


@pytest.mark.parametrize("where", ["pause", "cut", "resume", "restore", "replace"])
def test_an_interrupt_releases_every_client(fake_run, monkeypatch, where) -> None:
    usual = getattr(fake_run.clients, where)
    calls: list[int] = []

    def interrupted(*of: Any, **how: Any) -> Any:
        if not calls:
            calls.append(1)
            raise KeyboardInterrupt
        return usual(*of, **how)

    monkeypatch.setattr(fake_run.clients, where, interrupted)
    with pytest.raises(KeyboardInterrupt):
        fake_run.carry_out(
            CASES["pause-client"].event(target=parse("client:0")),
            CASES["isolate-client"].event(target=parse("client:2")),
            CASES["kill-client"].event(target=parse("client:3")),
        )
    assert (fake_run.clients.standing, fake_run.clients.cuts) == (set(), {})
    assert sorted(fake_run.clients.running.values()) == ["producer", "producer", "reader", "session"]


@pytest.mark.parametrize(
    ("options", "cut"),
    [
        ({}, (None, ("in", "out"))),
        ({"one_way": "out"}, (None, ("out",))),
        ({"brokers": "1,3"}, ((1, 3), ("in", "out"))),
        ({"brokers": 2, "one_way": "in"}, ((2,), ("in",))),
        ({"brokers": "leader"}, ((3,), ("in", "out"))),
        ({"brokers": "coordinator:readers"}, ((1,), ("in", "out"))),
    ],
)
def test_brokers_are_resolved_when_a_client_is_cut_from_them(fake_run, options, cut) -> None:
    """The leader changes after the start of the run."""
    seen: list[object] = []
    fake_run.stop.arrange(2, lambda: fake_run.cluster.leaders.update({("log", 0): 3}))
    fake_run.stop.arrange(8, lambda: seen.append(dict(fake_run.clients.cuts)))
    fake_run.carry_out(isolate_client("client:0", at=4, lasting=10, **options))
    assert seen == [{(0, "isolate-client-0"): cut}]
    assert fake_run.clients.cuts == {}
    assert fake_run.effective() == {("isolate-client-0", "inject"): True, ("isolate-client-0", "heal"): True}
    evidence = fake_run.value("isolate-client-0", "inject")["evidence"]
    assert evidence.get("brokers") == (None if cut[0] is None else list(cut[0]))
    assert set(evidence["dropped"]) == set(cut[1])


def test_brokers_that_are_nothing_are_named(fake_run) -> None:
    fake_run.cluster.leaders["log", 0] = None
    fake_run.carry_out(isolate_client("client:0", at=1, lasting=9, brokers="leader"))
    evidence = fake_run.value("isolate-client-0", "inject")["evidence"]
    assert evidence["unresolved"].startswith("leader: log-0 has no leader")
    assert "cut 0" not in fake_run.clients.log


def test_cuts_of_one_client_by_several_events_add_up(fake_run) -> None:
    seen: list[object] = []
    fake_run.stop.arrange(6, lambda: seen.append(dict(fake_run.clients.cuts)))
    fake_run.stop.arrange(12, lambda: seen.append(dict(fake_run.clients.cuts)))
    fake_run.carry_out(
        isolate_client("client:0", at=1, lasting=9, brokers=1),
        isolate_client("client:0", at=3, lasting=15, brokers=1, one_way="in"),
    )
    first = {(0, "isolate-client-0"): ((1,), ("in", "out"))}
    second = {(0, "isolate-client-1"): ((1,), ("in",))}
    assert seen == [first | second, second]
    assert set(fake_run.effective().values()) == {True}


def test_a_cut_that_is_gone_before_its_end_is_reported(fake_run) -> None:
    fake_run.stop.arrange(5, fake_run.clients.cuts.clear)
    fake_run.carry_out(CASES["isolate-client"].event())
    assert not fake_run.effective()["isolate-client-0", "heal"]
    assert "ended_early" in fake_run.value("isolate-client-0", "heal")["evidence"]
