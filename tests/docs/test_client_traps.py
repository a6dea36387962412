"""docs/soak.md: the table of clients and traps has what was measured, and nothing else."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[2]


@pytest.fixture
def page(monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.syspath_prepend(str(ROOT / "docs" / "generate"))
    import client_traps

    yield client_traps
    for name in ("client_traps", "_blocks"):
        sys.modules.pop(name, None)


def cell(client: str, trap: str, fell: int, tries: int, *shown: str) -> dict[str, Any]:
    return {"client": client, "trap": trap, "fell": fell, "tries": tries, "shown": list(shown)}


def test_a_client_has_a_row_and_a_trap_a_column(page: Any) -> None:
    body = page.body(
        [
            cell("one", "stall", 0, 2),
            cell("one", "wedge", 2, 2, "producer replaced"),
            cell("two", "wedge", 0, 0),
        ]
    )
    assert body.splitlines() == [
        "| client | stall | wedge |",
        "|---|---|---|",
        "| one | 0 of 2 | 2 of 2: producer replaced |",
        "| two |  | not exercised |",
    ]
