"""The tables of clients and traps in docs/clients.md, which ``benchmarks/client_traps.py --json`` measured."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from _blocks import replaced, table

BLOCKS = {"traps of releases": "releases.json", "client traps": "clients.json"}
"""By the name of the block, its file in docs/scenario_results/traps."""


def generate(root: Path) -> dict[Path, str]:
    page = root / "docs" / "clients.md"
    text = page.read_text(encoding="utf-8")
    for block, file in BLOCKS.items():
        path = root / "docs" / "scenario_results" / "traps" / file
        text = replaced(text, block, body(json.loads(path.read_text(encoding="utf-8"))))
    return {page: text}


def body(cells: list[dict[str, Any]]) -> str:
    """One row per client and release of brokers, which is named where there are several."""
    traps = list(dict.fromkeys(each["trap"] for each in cells))
    releases = {each["kafka"] for each in cells}
    rows = []
    for client, kafka in dict.fromkeys((each["client"], each["kafka"]) for each in cells):
        by_trap = {each["trap"]: each for each in cells if (each["client"], each["kafka"]) == (client, kafka)}
        name = f"{client}, Kafka {kafka}" if len(releases) > 1 else client
        rows.append([name, *(_cell(by_trap[trap]) if trap in by_trap else "" for trap in traps)])
    return table(["client", *traps], rows)


def _cell(cell: dict[str, Any]) -> str:
    """Unknown tries are counted apart from the others. Of a sign, the name of its group is left out."""
    if cell["refused"]:
        return "n/a"
    unknown = f" ({cell['unknown']} more unknown)" if cell["unknown"] else ""
    if not cell["tries"]:
        return f"not exercised{unknown}"
    names = dict.fromkeys(name.rpartition(": ")[2] for name in cell["shown"])
    shown = f": {', '.join(names)}" if names else ""
    return f"{cell['fell']} of {cell['tries']}{unknown}{shown}"
