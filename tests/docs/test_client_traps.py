"""docs/clients.md: the tables of clients and traps have what was measured, and nothing else."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import pytest

from benchmarks.client_traps import Cell, added, cell_of
from benchmarks.traps import (
    COMMITTED_LOST,
    LEFT_OUT,
    POLLED_LOST,
    STANDS_STILL,
    TRAPS,
    UNFINISHED,
    signs_of_group,
    signs_of_transactions,
)

ROOT = Path(__file__).parents[2]


@pytest.fixture
def page(monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.syspath_prepend(str(ROOT / "docs" / "generate"))
    import client_traps

    yield client_traps
    for name in ("client_traps", "_blocks"):
        sys.modules.pop(name, None)


def cell(client: str, trap: str, fell: int, tries: int, *shown: str) -> dict[str, Any]:
    return vars(Cell(client, trap, tries=tries, fell=fell, shown=list(shown)))


def test_a_client_has_a_row_and_a_trap_a_column(page: Any) -> None:
    body = page.body(
        [
            cell("one", "stall", 0, 2),
            cell("one", "wedge", 2, 2, "producer replaced"),
            {**cell("two", "wedge", 0, 0), "unknown": 2},
        ]
    )
    assert body.splitlines() == [
        "| client | stall | wedge |",
        "|---|---|---|",
        "| one | 0 of 2 | 2 of 2: producer replaced |",
        "| two |  | not exercised (2 more unknown) |",
    ]


def test_a_refusal_has_no_tries_and_releases_of_brokers_are_named_where_they_differ(page: Any) -> None:
    body = page.body(
        [
            {**cell("one", "KIP-848", 0, 0), "refused": "no group-consumer"},
            {**cell("one", "KIP-848", 1, 1, "group-0: stands still"), "kafka": "4.0.2"},
        ]
    )
    assert body.splitlines()[2:] == [
        "| one, Kafka 4.1.1 | n/a |",
        "| one, Kafka 4.0.2 | 1 of 1: stands still |",
    ]


def test_the_page_has_what_was_measured_and_explains_each_trap(page: Any) -> None:
    (text,) = page.generate(ROOT).values()
    assert text == (ROOT / "docs" / "clients.md").read_text(encoding="utf-8")
    for trap in TRAPS:
        for name in trap.shown:
            assert f"\n- *{name}*" in text


def test_an_unknown_run_is_a_try_only_if_it_has_a_finding_of_the_trap() -> None:
    cells = [Cell("c", "stall", tries=1)]
    added(cell_of(cells, "c", "stall"), frozenset({"slow-recovery"}), is_known=True)
    added(cell_of(cells, "c", "stall"), frozenset({f"group-0: {STANDS_STILL}"}), is_known=False)
    added(cell_of(cells, "c", "stall"), frozenset({"stalled-reader"}), is_known=False)
    added(cell_of(cells, "c", "wedge"), frozenset(), is_known=True)
    assert cells == [
        Cell("c", "stall", tries=3, fell=2, shown=["slow-recovery", "stalled-reader"], unknown=1),
        Cell("c", "wedge", tries=1),
    ]


SECOND = 10**9


def row(
    f: str, at: int, value: int, offset: int = 0, *, process: int = 9, final: bool = False
) -> dict[str, Any]:
    times = {"invoked": at * SECOND, "completed": at * SECOND}
    place = {"topic": "t", "partition": 0, "offset": offset}
    return {"f": f, "process": process, "value": value, "final": final, **times, **place}


MEMBER = {"f": "member", "type": "ok", "process": 1}


def committed(at: int, offset: int) -> dict[str, Any]:
    place = {"topic": "t", "partition": 0, "end_offset": offset}
    return {"f": "commit", "type": "ok", "completed": at * SECOND, **place}


def test_a_group_that_goes_on_behind_a_truncation_leaves_out_what_was_written_anew() -> None:
    """Values 1 and 2 are lost, 3 to 5 take their offsets and the next one, and the group goes on at offset 2."""
    sends = [row("send", at, at) for at in (1, 2, 3, 4, 5)] + [row("send", 30, 6)]
    lost = [row("poll", 2, value, value - 1, process=1) for value in (1, 2)]
    final = [row("poll", 40, value, value - 3, final=True) for value in (3, 4, 5)]
    went_on = [*sends, *lost, *final, row("poll", 20, 5, 2, process=1)]
    assert signs_of_group(went_on, [MEMBER]) == {POLLED_LOST, LEFT_OUT}
    assert signs_of_group(went_on, [MEMBER, committed(3, 2)]) == {POLLED_LOST, LEFT_OUT, COMMITTED_LOST}
    assert signs_of_group([*sends, *lost, *final], [MEMBER]) == {POLLED_LOST, STANDS_STILL}
    back = [row("poll", 20, value, value - 3, process=1) for value in (3, 4, 5)]
    assert signs_of_group([*sends, *lost, *final, *back], [MEMBER]) == {POLLED_LOST}


def test_an_id_without_a_late_commit_is_unfinished() -> None:
    def ended(at: int, id: str, outcome: str) -> dict[str, Any]:
        value = {"transactional_id": id, "outcome": outcome, "ending": at * SECOND}
        return {"f": "txn", "type": "ok", "invoked": at * SECOND, "value": json.dumps(value)}

    both = [ended(1, "a", "commit"), ended(9, "b", "commit"), ended(9, "a", "abort")]
    assert signs_of_transactions(both) == {UNFINISHED}
    assert signs_of_transactions([*both, ended(8, "a", "commit")]) == set()
