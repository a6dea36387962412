"""Faults of the network, on the fake cluster."""

from __future__ import annotations

from pytest_kafkacheck import (
    bandwidth,
    cut_clients,
    delay,
    dns,
    duplicate,
    isolate,
    loss,
    partition,
    reorder,
    reset,
)
from tests.support.fault_cases import Case, on_cuts, on_node

CASES: dict[str, Case] = {
    "isolate": Case(make=lambda **t: isolate(1, **t), breaks=on_cuts, heal=on_cuts),
    "partition": Case(
        make=lambda **t: partition(1, **t),
        breaks=on_cuts,
        heal=on_cuts,
        valid=(
            {"plane": "controller", "one_way": "in"},
            {"ports": frozenset({9092, 9093})},
            {"shape": "majority-ring"},
        ),
        wrong=(
            ({"plane": "data"}, "partition plane='data': allowed are None, 'replication', 'controller'"),
            ({"one_way": "up"}, "partition one_way='up': allowed are None, 'in', 'out'"),
            ({"shape": "star"}, "partition shape='star': allowed are 'apart'"),
            ({"ports": [0]}, "partition ports=[0]: expected one or more numbers from 1 to 65535"),
            ({"ports": [1], "plane": "controller"}, "allowed is one of the two"),
        ),
    ),
    "cut-clients": Case(
        make=lambda **t: cut_clients(1, **t),
        breaks=on_node("nft"),
        heal=on_node("nft"),
        valid=({"one_way": "in"},),
        wrong=(({"one_way": "up"}, "cut-clients one_way='up': allowed are None, 'in', 'out'"),),
    ),
    "reset": Case(make=lambda **t: reset(1, **t), breaks=on_node("nft")),
    "loss": Case(
        make=lambda **t: loss(1, **t),
        breaks=on_node("nft"),
        heal=on_node("nft"),
        valid=({"percent": 1.5},),
        wrong=(({"percent": 101}, "loss percent=101: expected a number, above 0, 100 at most"),),
    ),
    "bandwidth": Case(
        make=lambda **t: bandwidth(1, **t),
        breaks=on_node("tc"),
        heal=on_node("tc"),
        valid=({"kbit": 64},),
        wrong=(
            ({"kbit": 1}, "kbit=1: expected a number, 8 or more, 1e+08 at most"),
            ({"kbit": 2e8}, "1e+08 at most"),
        ),
    ),
    "delay": Case(
        make=lambda **t: delay(1, **t),
        breaks=on_node("tc"),
        heal=on_node("tc"),
        valid=({"ms": 5, "jitter_ms": 2},),
        wrong=(({"ms": -1}, "delay ms=-1"), ({"jitter_ms": None}, "delay jitter_ms=None")),
    ),
    "duplicate": Case(
        make=lambda **t: duplicate(1, **t),
        breaks=on_node("tc"),
        heal=on_node("tc"),
        valid=({"percent": 3},),
        wrong=(({"percent": 0}, "duplicate percent=0: expected a number, above 0"),),
    ),
    "reorder": Case(
        make=lambda **t: reorder(1, **t),
        breaks=on_node("tc"),
        heal=on_node("tc"),
        valid=({"percent": 3, "ms": 4},),
        wrong=(({"percent": "5"}, "reorder percent='5'"), ({"ms": 0}, "reorder ms=0")),
    ),
    "dns": Case(make=lambda **t: dns(1, **t), breaks=on_node("nft"), heal=on_node("nft")),
}


def test_a_missing_tool_does_not_prove_that_names_are_not_resolved(fake_run) -> None:
    for node in fake_run.cluster.nodes.values():
        node.ignores |= {"nft", "getent"}
    fake_run.carry_out(CASES["dns"].event())
    assert fake_run.effective()["dns-0", "inject"] is False


def test_a_fault_that_ended_early_is_reported_and_its_window_is_uncertain(fake_run) -> None:
    node = fake_run.cluster.nodes[1]
    fake_run.stop.arrange(5, node.filters.clear)
    fake_run.carry_out(CASES["loss"].event())
    value = fake_run.value("loss-0", "heal")
    assert value["effective"] is False
    assert "ended_early" in value["evidence"]
    assert set(value["active"]) == {"possibly"}
