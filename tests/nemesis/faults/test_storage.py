"""Faults of storage, on the fake cluster."""

from __future__ import annotations

from pytest_kafkacheck import corrupt, log_dir_failure, power_loss, wipe
from tests.support.fault_cases import Case, on_node

CASES: dict[str, Case] = {
    "power-loss": Case(
        make=lambda **t: power_loss(1, **t), breaks=on_node("shut_down"), heal=on_node("start")
    ),
    "corrupt": Case(
        make=lambda **t: corrupt(1, **t),
        breaks=on_node("damage"),
        heal=on_node("start"),
        valid=({"how": "flip", "size": 7},),
        wrong=(
            ({"how": "eat"}, "corrupt how='eat': allowed are 'truncate', 'flip'"),
            ({"size": 0}, "corrupt size=0"),
        ),
    ),
    "wipe": Case(make=lambda **t: wipe(1, **t), breaks=on_node("wipe"), heal=on_node("start")),
    "log-dir-failure": Case(
        make=lambda **t: log_dir_failure(1, **t), breaks=on_node("shut_down"), heal=on_node("start")
    ),
}
