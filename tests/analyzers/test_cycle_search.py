"""Searching dependencies of transactions for cycles, the arrays that hold them, and the order in real time."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pyarrow as pa

from analyzers.causes.evidence import Extent
from analyzers.judge import cycle_search
from analyzers.judge.cycle_search import LEVELS, Cycle, Moments, Transactions
from analyzers.judge.cycles import cycle_results

Node = dict[str, Any]


def transaction(op: int, began: int, ended: int | None, type: str = "ok") -> Node:
    return {
        "ended": began if ended is None else ended, "op": op, "invoked": began, "completed": ended, "type": type,
    }  # fmt: skip


def dependency(kind: str, source: Node, target: Node, topic: str = "t") -> dict[str, Any]:
    return {"kind": kind, "source": source, "target": target, "topic": topic, "partition": 0}


NODE = pa.struct(
    {
        "ended": pa.int64(),
        "op": pa.int64(),
        "invoked": pa.int64(),
        "completed": pa.int64(),
        "type": pa.string(),
    }
)
SCHEMA = pa.schema(
    {"kind": pa.string(), "topic": pa.string(), "partition": pa.int32(), "source": NODE, "target": NODE}
)


def table(rows: list[dict[str, Any]]) -> pa.Table:
    return pa.Table.from_pylist(rows, SCHEMA)


def search(rows: list[dict[str, Any]], anomalies: Sequence[str]) -> dict[str, list[Cycle]]:
    return cycle_search.search(table(rows), anomalies)


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


def test_cycles_have_an_extent_without_a_log_that_no_example_limits() -> None:
    """Otherwise they would be listed under no cause."""
    later = [transaction(op, began, 30) for op, began in ((4, 20), (5, 21), (6, 40), (7, 41))]
    pairs = [(A, B), (later[0], later[1]), (later[2], later[3])]
    rows = [dependency("wr", *ends) for pair in pairs for ends in (pair, pair[::-1])]
    (found,) = cycle_results("r", table(rows), ["G1c-wr", "G1c-realtime"], examples=1)
    assert (found.run, found.anomaly, found.count) == ("r", "G1c-wr", 3)
    assert [example["transaction"] for example in found.examples] == [1]
    assert found.extents == (Extent(anomaly="G1c-wr", topic=None, partition=None, count=3, first=0, last=40),)


def test_cycles_that_are_notes_take_no_evidence_of_causes() -> None:
    rows = [dependency("wr", B, C), dependency("ww", C, A), dependency("wr", A, B)]
    (found,) = cycle_results("r", table(rows), ["G1c"], examples=1)
    assert (found.count, found.extents) == (1, ())


def found_in(rows: list[Any]) -> dict[str, list[tuple[int, ...]]]:
    found = search(rows, list(LEVELS))
    return {anomaly: [each.cycle for each in cycles] for anomaly, cycles in found.items() if cycles}


def test_fewer_kinds_of_dependencies_come_first() -> None:
    levels = cycle_search.LEVELS
    assert [*levels] == sorted(levels, key=lambda name: (len(levels[name]), name))


def test_a_cycle_counts_for_each_anomaly_that_has_none_of_the_kinds_of_another() -> None:
    rows = [dependency(kind, *ends, topic=kind) for kind in ("ww", "wr") for ends in ((A, B), (B, A))]
    assert found_in(rows) == {"G0": [(1, 2)], "G1c-wr": [(1, 2)]}
    (cycle,) = search(rows, ["G0"])["G0"]
    assert cycle.example["topic"] == "ww", "of a dependency of the anomaly"


def test_cycles_are_in_order_of_time() -> None:
    late, later = transaction(4, 20, 30), transaction(5, 21, 30)
    rows = [dependency("wr", *ends) for pair in ((late, later), (A, B)) for ends in (pair, pair[::-1])]
    assert found_in(rows) == {"G1c-wr": [(1, 2), (4, 5)]}


def test_the_first_transaction_is_the_first_in_time() -> None:
    early, late = transaction(5, 0, 9), transaction(1, 3, 9)
    assert found_in([dependency("wr", early, late), dependency("wr", late, early)]) == {"G1c-wr": [(5, 1)]}
    one, eight = transaction(1, 0, 9), transaction(8, 0, 5)
    assert found_in([dependency("wr", one, eight), dependency("wr", eight, one)]) == {"G1c-wr": [(1, 8)]}


def test_the_end_of_a_transaction_is_known_only_if_it_was_answered() -> None:
    early, late = transaction(1, 0, 5), transaction(2, 6, 9)
    for kind, completed in (("info", 5), ("info", None)):
        unknown = transaction(1, 0, completed, type=kind)
        assert found_in([dependency("wr", late, unknown)]) == {}
    assert found_in([dependency("wr", late, early)]) == {"G1c-realtime": [(1, 2)]}


def test_a_transaction_precedes_those_that_begin_after_others_have_ended() -> None:
    """Between its end and the begin of the other lies the end of a third."""
    early, middle, late = transaction(1, 0, 5), transaction(2, 0, 6), transaction(3, 7, 9)
    rows = [dependency("wr", late, early), dependency("wr", middle, early)]
    assert found_in(rows) == {"G1c-realtime": [(1, 3)]}


FIRST, SECOND, THIRD, OPEN = (
    transaction(9, 0, 5), transaction(3, 1, 6), transaction(7, 5, 6), transaction(4, 8, None, "info"),
)  # fmt: skip
ROWS = [
    dependency("ww", FIRST, THIRD, topic="b"),
    dependency("wr", FIRST, THIRD, topic="a"),
    dependency("wr", FIRST, SECOND),
    dependency("ww", THIRD, FIRST, topic="back"),
    dependency("rw", THIRD, SECOND),
    dependency("wr", OPEN, SECOND, topic="last"),
]


def test_transactions_are_numbered_in_the_order_of_their_ends_and_names() -> None:
    assert Transactions(table(ROWS)).ops == [9, 3, 7, 4]
    assert Transactions(table(ROWS[::-1])).ops == [9, 3, 7, 4]
    assert len(Transactions(table(ROWS))) == 4
    assert Transactions(table(ROWS)).invoked == [0, 1, 5, 8]


def test_dependencies_are_those_of_the_kinds_in_their_order() -> None:
    both = Transactions(table(ROWS)).dependencies({"ww", "wr"})
    assert [list(both.of(source)) for source in range(4)] == [[1, 2, 2], [], [0], [1]]
    assert [list(Transactions(table(ROWS)).dependencies({"rw"}).of(source)) for source in range(4)] == [
        [], [], [1], [],
    ]  # fmt: skip


def test_a_dependency_has_the_place_of_the_last_kind() -> None:
    both = Transactions(table(ROWS)).dependencies({"ww", "wr"})
    assert both.place(0, 2) == ("b", 0)
    assert both.place(0, 1) == ("t", 0)
    assert both.place(2, 0) == ("back", 0)
    assert both.place(3, 1) == ("last", 0)
    assert both.place(0, 0) is None
    assert both.place(0, 3) is None
    assert both.place(1, 2) is None, "that is where the dependencies before it lead"
    assert both.place(1, 0) is None
    assert both.place(2, 1) is None
    assert Transactions(table(ROWS)).dependencies({"rw"}).place(3, 1) is None


def test_acknowledged_ends_lead_to_what_begins_later() -> None:
    moments = Transactions(table(ROWS)).moments()
    assert [list(moments.after(node)) for node in range(4)] == [[4], [5], [6], []]
    # The third transaction begins at the very time of the first end; only the open one begins after the others.
    assert [list(moments.after(node)) for node in (4, 5, 6)] == [[5], [6], [3]]


def test_an_end_leads_to_what_begins_before_the_next_one() -> None:
    moments = Moments([30, 0, 12, 11, 1, 21], [(10, 1), (20, 4)])
    assert [list(moments.after(node)) for node in range(6)] == [[], [6], [], [], [7], []]
    assert [list(moments.after(node)) for node in (6, 7)] == [[3, 2, 7], [5, 0]]


def test_without_ends_there_are_no_moments() -> None:
    assert [list(Moments([0, 1], []).after(node)) for node in range(2)] == [[], []]
