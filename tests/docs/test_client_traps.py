"""docs/soak.md: the table of clients and traps has what was measured, and nothing else."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import pytest

from benchmarks.client_traps import Cell, added

ROOT = Path(__file__).parents[2]


@pytest.fixture
def page(monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.syspath_prepend(str(ROOT / "docs" / "generate"))
    import _client_traps

    yield _client_traps
    for name in ("_client_traps", "_blocks"):
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


def test_tries_are_added_and_unknown_ones_are_told_apart() -> None:
    cells = [Cell("c", "stall", tries=1)]
    added(cells, "c", "stall", frozenset({"slow-recovery"}), is_known=True)
    added(cells, "c", "stall", frozenset({"stalled-reader"}), is_known=False)
    added(cells, "c", "wedge", frozenset(), is_known=True)
    assert cells == [
        Cell("c", "stall", tries=2, fell=1, shown=["slow-recovery"], unknown=1),
        Cell("c", "wedge", tries=1),
    ]
