"""Faults of resources, on the fake cluster."""

from __future__ import annotations

import pytest

from pytest_kafkacheck import (
    bandwidth,
    cpu,
    delay,
    disk_full,
    disk_stall,
    kill,
    memory,
    oom,
    pause,
    slow_disk,
)
from tests.support.fault_cases import Case, on_node

CASES: dict[str, Case] = {
    "cpu": Case(
        make=lambda **t: cpu(1, **t),
        breaks=on_node("limit_cpu"),
        heal=on_node("limit_cpu"),
        valid=({"cores": 0.5},),
        wrong=(({"cores": 0}, "cpu cores=0: expected a number, 0.01 or more"),),
    ),
    "memory": Case(
        make=lambda **t: memory(1, **t),
        breaks=on_node("limit_memory"),
        heal=on_node("limit_memory"),
        valid=({"spare_mb": 2},),
        wrong=(({"spare_mb": 0.5}, "memory spare_mb=0.5: expected a whole number, 1 or more"),),
    ),
    "disk-full": Case(make=lambda **t: disk_full(1, **t), breaks=on_node("fill"), heal=on_node("empty")),
    "disk-stall": Case(make=lambda **t: disk_stall(1, **t), breaks=on_node("stall")),
    "slow-disk": Case(
        make=lambda **t: slow_disk(1, **t),
        breaks=on_node("throttle"),
        heal=on_node("throttle"),
        valid=({"mb_per_s": 0.25},),
        wrong=(({"mb_per_s": 0}, "slow-disk mb_per_s=0: expected a number, 0.05 or more"),),
    ),
}


def test_wishes_for_one_resource_are_combined(fake_run) -> None:
    node, seen = fake_run.cluster.nodes[1], []
    for moment in (3, 8, 14):
        fake_run.stop.arrange(moment, lambda: seen.append((node.cores, list(node.qdiscs))))
    fake_run.carry_out(
        cpu(1, cores=0.5, at=0, lasting=20), cpu(1, cores=0.2, at=5, lasting=5),
        delay(1, ms=100, at=1, lasting=18), bandwidth(1, kbit=64, at=6, lasting=5),
    )  # fmt: skip
    assert [cores for cores, _ in seen] == [0.5, 0.2, 0.5]
    assert [len(qdiscs) for _, qdiscs in seen] == [1, 2, 1]
    assert all(fake_run.effective().values())
    assert fake_run.cluster.clean()


def test_a_broker_that_memory_pressure_killed_is_started_again(fake_run) -> None:
    node = fake_run.cluster.nodes[1]
    fake_run.stop.arrange(6, lambda: node.die(137, of_memory=True))
    fake_run.carry_out(CASES["memory"].event())
    assert fake_run.cluster.clean()
    assert all(fake_run.effective().values())
    assert fake_run.value("memory-0", "heal")["evidence"]["killed_for_memory"] is True


def test_memory_is_measured_again_where_its_use_has_grown_beyond_the_limit(fake_run, monkeypatch) -> None:
    node, asked = fake_run.cluster.nodes[1], []
    usual, used = node.limit_memory, node.memory

    def limit_memory(size: int | None) -> None:
        asked.append(size)
        if len(asked) == 1:
            monkeypatch.setattr(node, "memory", lambda: (used()[0] + (20 << 20), used()[1]))
            raise OSError("unable to set memory limit")
        usual(size)

    monkeypatch.setattr(node, "limit_memory", limit_memory)
    fake_run.carry_out(CASES["memory"].event())
    assert [row["error"] for row in fake_run.rows] == [None] * 2
    assert asked[1] == asked[0] + (20 << 20)
    assert fake_run.cluster.clean()


def test_a_broker_that_survives_memory_pressure_is_not_called_killed(fake_run) -> None:
    fake_run.cluster.nodes[1].die(137, of_memory=True)
    fake_run.cluster.nodes[1].start()
    fake_run.carry_out(CASES["memory"].event())
    assert fake_run.value("memory-0", "heal")["evidence"]["killed_for_memory"] is False


@pytest.mark.parametrize("of_memory", [True, False])
def test_memory_pressure_is_proved_by_a_kill_during_its_proof_if_the_kernel_did_it_for_memory(
    fake_run, monkeypatch, of_memory
) -> None:
    node, usual = fake_run.cluster.nodes[1], fake_run.cluster.nodes[1].execute

    def execute(command: str) -> tuple[int, str]:
        if "/dev/zero >" in command:
            node.die(137, of_memory=of_memory)
        return usual(command)

    monkeypatch.setattr(node, "execute", execute)
    fake_run.carry_out(CASES["memory"].event())
    assert fake_run.value("memory-0", "inject")["effective"] is of_memory
    if of_memory:
        assert fake_run.value("memory-0", "inject")["evidence"]["killed_for_memory"] is True
    assert fake_run.cluster.clean()


@pytest.mark.parametrize("other", [kill, pause])
def test_one_of_two_memory_limits_is_lifted_while_the_process_cannot_answer(fake_run, other) -> None:
    """The limit that remains must be applied although the use of memory cannot be measured."""
    node, seen = fake_run.cluster.nodes[1], []
    for moment in (6, 12):
        fake_run.stop.arrange(moment, lambda: seen.append(node.bytes_allowed))
    fake_run.carry_out(
        memory(1, spare_mb=1, at=0, lasting=10),
        memory(1, spare_mb=4, at=2, lasting=20),
        other(1, at=5, lasting=10),
    )
    assert [row["error"] for row in fake_run.rows] == [None] * 6
    first, second = seen
    assert first < second, "the first limit still holds, or the second one does not"
    assert all(fake_run.effective().values())
    assert fake_run.cluster.clean()


def test_a_process_stays_down_when_an_oom_kill_meets_another_memory_limit(fake_run) -> None:
    node, seen = fake_run.cluster.nodes[1], {}
    for moment in (8, 14):
        fake_run.stop.arrange(moment, lambda moment=moment: seen.update({moment: node.state()}))
    fake_run.carry_out(memory(1, at=0, lasting=10), oom(1, at=5, lasting=8))
    assert [row["error"] for row in fake_run.rows] == [None] * 4
    assert seen == {8: "stopped", 14: "running"}
    assert all(fake_run.effective().values())
    assert fake_run.cluster.clean()


def test_a_full_disk_is_emptied_before_its_broker_starts_again(fake_run) -> None:
    node, usual, started_full = fake_run.cluster.nodes[1], fake_run.cluster.nodes[1].start, []
    node.start = lambda: (started_full.append(node.disk.full), usual())
    fake_run.stop.arrange(3, lambda: node.die(1))
    fake_run.carry_out(CASES["disk-full"].event(), CASES["disk-full"].event(at=5, lasting=20))
    assert started_full == [False]
    assert fake_run.cluster.clean()
