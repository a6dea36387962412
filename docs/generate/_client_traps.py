"""The table of clients and traps in docs/soak.md, which ``benchmarks/client_traps.py --json`` measured."""

from __future__ import annotations

from typing import Any

from _blocks import table


def body(cells: list[dict[str, Any]]) -> str:
    traps = list(dict.fromkeys(each["trap"] for each in cells))
    rows = []
    for client in dict.fromkeys(each["client"] for each in cells):
        by_trap = {each["trap"]: each for each in cells if each["client"] == client}
        rows.append([client, *(_cell(by_trap[trap]) if trap in by_trap else "" for trap in traps)])
    return table(["client", *traps], rows)


def _cell(cell: dict[str, Any]) -> str:
    """Unknown tries are counted apart from the others."""
    unknown = f" ({cell['unknown']} more unknown)" if cell["unknown"] else ""
    if not cell["tries"]:
        return f"not exercised{unknown}"
    shown = f": {', '.join(cell['shown'])}" if cell["shown"] else ""
    return f"{cell['fell']} of {cell['tries']}{unknown}{shown}"
