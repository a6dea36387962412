"""The table of clients and traps in docs/soak.md, which ``benchmarks/client_traps.py --json`` measured."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from _blocks import replaced, table


def generate(root: Path) -> dict[Path, str]:
    page = root / "docs" / "soak.md"
    cells = json.loads(
        (root / "docs" / "scenario_results" / "traps" / "clients.json").read_text(encoding="utf-8")
    )
    return {page: replaced(page.read_text(encoding="utf-8"), "client traps", body(cells))}


def body(cells: list[dict[str, Any]]) -> str:
    traps = list(dict.fromkeys(each["trap"] for each in cells))
    rows = []
    for client in dict.fromkeys(each["client"] for each in cells):
        by_trap = {each["trap"]: each for each in cells if each["client"] == client}
        rows.append([client, *(_cell(by_trap[trap]) if trap in by_trap else "" for trap in traps)])
    return table(["client", *traps], rows)


def _cell(cell: dict[str, Any]) -> str:
    """Tries that say nothing are told apart."""
    unknown = f" ({cell['unknown']} more unknown)" if cell["unknown"] else ""
    if not cell["tries"]:
        return f"not exercised{unknown}"
    shown = f": {', '.join(cell['shown'])}" if cell["shown"] else ""
    return f"{cell['fell']} of {cell['tries']}{unknown}{shown}"
