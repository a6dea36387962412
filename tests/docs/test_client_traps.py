"""docs/clients.md: the tables of clients and traps have what was measured, and nothing else."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import pytest

from benchmarks.client_traps import Cell, added, cell_of
from benchmarks.traps import TRAPS

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


def test_an_unknown_run_is_a_try_only_if_the_client_fell_into_the_trap() -> None:
    cells = [Cell("c", "stall", tries=1)]
    added(cell_of(cells, "c", "stall"), frozenset({"slow-recovery"}), is_known=True)
    added(cell_of(cells, "c", "stall"), frozenset(), is_known=False)
    added(cell_of(cells, "c", "stall"), frozenset({"stalled-reader"}), is_known=False)
    added(cell_of(cells, "c", "wedge"), frozenset(), is_known=True)
    assert cells == [
        Cell("c", "stall", tries=3, fell=2, shown=["slow-recovery", "stalled-reader"], unknown=1),
        Cell("c", "wedge", tries=1),
    ]
