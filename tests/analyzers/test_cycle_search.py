"""Searching dependencies of transactions for cycles. Needs no JVM."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

from analyzers.judge.cycle_search import LEVELS, search


def transaction(op: int, began: int, ended: int) -> Any:
    return SimpleNamespace(op=op, type="ok", invoked=began, completed=ended)


def dependency(kind: str, source: Any, target: Any, topic: str = "t") -> Any:
    return SimpleNamespace(kind=kind, source=source, target=target, topic=topic, partition=0)


A, B, C = transaction(1, 0, 9), transaction(2, 1, 10), transaction(3, 2, 11)


def test_a_cycle_counts_only_for_the_anomaly_with_the_fewest_kinds_of_dependencies() -> None:
    rows = [dependency("wr", A, B), dependency("wr", B, A)]
    found = search(rows, list(LEVELS))
    assert {anomaly: len(cycles) for anomaly, cycles in found.items() if cycles} == {"G1c-wr": 1}


def test_a_cycle_of_two_kinds_is_found_and_begins_with_its_first_transaction() -> None:
    rows = [dependency("wr", B, C), dependency("ww", C, A), dependency("wr", A, B, topic="first")]
    found = search(rows, list(LEVELS))
    assert {anomaly: len(cycles) for anomaly, cycles in found.items() if cycles} == {"G1c": 1}
    (cycle,) = found["G1c"]
    assert cycle.cycle == (1, 2, 3)
    assert cycle.example == {
        "topic": "first", "partition": 0, "time": 0, "transaction": 1, "other": 2, "length": 3, "size": 3,
    }  # fmt: skip


def test_the_order_in_real_time_closes_a_cycle() -> None:
    early, late = transaction(1, 0, 5), transaction(2, 6, 9)
    found = search([dependency("wr", late, early)], list(LEVELS))
    assert [anomaly for anomaly, cycles in found.items() if cycles] == ["G1c-realtime"]
    assert found["G1c-realtime"][0].cycle == (1, 2)


def test_only_the_requested_anomalies_are_returned() -> None:
    rows = [dependency("wr", A, B), dependency("wr", B, A)]
    assert search(rows, ["G1c-realtime"]) == {"G1c-realtime": []}
