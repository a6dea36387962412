"""The tables in docs/soak.md: of soaks and their memory, as docs/soak_results has them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from _blocks import replaced, table

PARTS = ["first third", "second third", "last third"]


def generate(root: Path) -> dict[Path, str]:
    page = root / "docs" / "soak.md"
    files = sorted((root / "docs" / "soak_results").glob("*.json"))
    found = [json.loads(file.read_text(encoding="utf-8")) for file in files]
    found.sort(key=lambda each: -each["summary"]["seconds"])
    text = replaced(page.read_text(encoding="utf-8"), "soak results", results(found))
    return {page: replaced(text, "soak memory", memory(found))}


def results(soaks: list[dict[str, Any]]) -> str:
    header = [
        "soak",
        "min",
        "rounds",
        "valid",
        "invalid",
        "unknown",
        "releases",
        "effective faults",
        "promises",
        "pairs",
    ]
    return table(header, [_result(each["arguments"], each["summary"]) for each in soaks])


def _result(arguments: str, summary: dict[str, Any]) -> list[str]:
    releases = ", ".join(f"{name} × {rounds}" for name, rounds in summary["versions"].items())
    faults = summary["faults"].values()
    effective, without = (sum(each[name] for each in faults) for name in ("effective", "without_effect"))
    return [
        f"`{arguments}`",
        f"{summary['seconds'] / 60:.0f}",
        str(summary["rounds"]),
        *(str(summary["results"][name]) for name in ("valid", "invalid", "unknown")),
        releases,
        f"{effective} of {effective + without}",
        str(len(summary["promises"])),
        str(len(summary["pairs"])),
    ]


def memory(soaks: list[dict[str, Any]]) -> str:
    """MB. Of a soak without samples there is no row."""
    rows = [
        [f"`{each['arguments']}`", what, *map(str, values)]
        for each in soaks
        for what, values in each.get("memory", {}).items()
    ]
    return table(["soak", "MB", *PARTS], rows)
