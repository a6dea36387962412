"""Faults of processes, on the fake cluster."""

from __future__ import annotations

import json

from pytest_kafkacheck import crash_loop, kill, loss, oom, pause, restart, rolling_restart, stop, upgrade
from tests.support.fault_cases import Case, on_kafka, on_node

CASES: dict[str, Case] = {
    "kill": Case(make=lambda **t: kill(1, **t), breaks=on_node("kill"), heal=on_node("start")),
    "stop": Case(make=lambda **t: stop(1, **t), breaks=on_node("stop"), heal=on_node("start")),
    "restart": Case(
        make=lambda **t: restart(1, **t),
        breaks=on_node("start"),
        heal=on_node("start"),
        valid=({"clean": False},),
        wrong=(({"clean": 1}, "restart clean=1: expected True or False"),),
    ),
    "rolling-restart": Case(
        make=lambda **t: rolling_restart(**t), breaks=on_node("start"), heal=on_node("start")
    ),
    "upgrade": Case(
        make=lambda **t: upgrade(to="4.2.2", **t),
        breaks=on_kafka("change_release"),
        heal=on_node("start"),
        valid=({"to": "4.1.2"},),
        wrong=(
            ({"to": "4.2"}, "upgrade to='4.2': expected a release such as '4.2.2'"),
            ({"to": 4}, "upgrade to=4: expected"),
        ),
    ),
    "pause": Case(make=lambda **t: pause(1, **t), breaks=on_node("freeze")),
    "crash-loop": Case(
        make=lambda **t: crash_loop(1, **t),
        breaks=on_node("kill"),
        heal=on_node("start"),
        valid=({"every": 3.5},),
        wrong=(({"every": 0}, "crash-loop every=0: expected a number, above 0"),),
        lasts=False,  # it runs half of the time
    ),
    "oom": Case(
        make=lambda **t: oom(1, **t), breaks=on_node("limit_memory"), heal=on_node("start"), lasts=False
    ),
}


def test_a_process_that_was_killed_did_not_shut_down(fake_run, monkeypatch) -> None:
    for node in fake_run.cluster.nodes.values():
        monkeypatch.setattr(node, "stop", node.kill)
    fake_run.carry_out(
        CASES["restart"].event(), CASES["rolling-restart"].event(at=20), CASES["stop"].event(at=60)
    )
    assert [
        fake_run.effective()[each, "inject"] for each in ("restart-0", "rolling-restart-1", "stop-2")
    ] == [False] * 3


def test_no_further_node_moves_while_a_replica_is_out_of_sync(fake_run) -> None:
    fake_run.cluster.in_sync = fake_run.cluster.in_sync[:-1]
    fake_run.carry_out(CASES["upgrade"].event())
    assert fake_run.effective()["upgrade-0", "inject"] is False
    assert [node.release for node in fake_run.cluster.nodes.values()].count("4.2.2") == 1


def test_a_process_that_a_failed_restart_stopped_is_started_at_once(fake_run, monkeypatch) -> None:
    node = fake_run.cluster.nodes[1]
    monkeypatch.setattr(node, "exit_code", lambda: 1 // 0)
    seen: list[str] = []
    fake_run.stop.arrange(3, lambda: seen.append(node.state()))
    fake_run.carry_out(
        CASES["restart"].event(), CASES["rolling-restart"].event(at=20), pause(2, at=80, lasting=1)
    )
    assert fake_run.row("restart-0", "inject")["error"].startswith("ZeroDivisionError")
    assert seen == ["running"]
    assert fake_run.effective()["restart-0", "heal"] is True
    assert fake_run.effective()["rolling-restart-1", "heal"] is True
    assert fake_run.effective()["pause-2", "inject"] is True


def test_a_refused_memory_limit_is_withdrawn(fake_run) -> None:
    node = fake_run.cluster.nodes[1]
    node.fails["limit_memory"] = OSError("below use")
    fake_run.stop.arrange(3, node.fails.clear)
    fake_run.carry_out(CASES["oom"].event(), loss(2, at=15, lasting=5))
    assert fake_run.row("oom-0", "inject")["error"] == "OSError: below use"
    assert "not required" not in json.dumps(fake_run.value("loss-1", "heal")), (
        "the oom fault still wants something"
    )


def test_a_crash_loop_kills_the_process_repeatedly(fake_run) -> None:
    fake_run.carry_out(crash_loop(1, every=2, at=1, lasting=9))
    node = fake_run.cluster.nodes[1]
    assert [step for step in node.log if step in ("kill", "start")] == ["kill", "start"] * 3
    evidence = fake_run.value("crash-loop-0", "heal")["evidence"]
    assert (evidence["beats"], evidence["kills"], evidence["starts"]) == (3, 3, 2)
    assert all(fake_run.effective().values())


def test_a_crash_loop_counts_only_processes_that_it_killed(fake_run) -> None:
    node = fake_run.cluster.nodes[1]
    fake_run.stop.arrange(4, lambda: node.ignores.add("kill"))
    fake_run.carry_out(crash_loop(1, every=2, at=1, lasting=9))
    heal = fake_run.value("crash-loop-0", "heal")
    assert (heal["evidence"]["beats"], heal["evidence"]["kills"]) == (3, 1)
    assert heal["effective"] is False


def test_a_crash_loop_whose_process_does_not_start_again_is_not_proved(fake_run) -> None:
    node = fake_run.cluster.nodes[1]
    fake_run.stop.arrange(3.5, node.kill)
    fake_run.carry_out(crash_loop(1, every=2, at=1, lasting=9))
    heal = fake_run.value("crash-loop-0", "heal")
    assert (heal["evidence"]["beats"], heal["evidence"]["starts"]) == (3, 1)
    assert heal["effective"] is False


def test_repetitions_stop_with_the_run(fake_run) -> None:
    fake_run.stop.arrange(4, fake_run.stop.set)
    fake_run.carry_out(crash_loop(1, every=2, at=1, lasting=100))
    assert fake_run.stop.now < 105
    assert fake_run.cluster.clean()
