"""The tables of docs/scenarios.md, from the results that ``kafkacheck scenarios --json`` wrote, and its pictures.

Not from the claims themselves: the page has only what was shown. ``--pictures`` wrote the pictures.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import _audit_rules
from _blocks import replaced, table

from pytest_kafkacheck.claims.claim import SECTIONS, name_of
from pytest_kafkacheck.claims.result import figures, rate

IMAGES = "images/scenarios"


def generate(root: Path) -> dict[Path, str]:
    page = root / "docs" / "scenarios.md"
    results = merged(
        json.loads(path.read_text(encoding="utf-8"))
        for path in sorted((root / "docs" / "scenario_results").glob("*.json"))
    )
    drawn = {path.stem for path in (root / "docs" / IMAGES).glob("*.svg")}
    text = replaced(page.read_text(encoding="utf-8"), "scenarios", body(results))
    text = replaced(text, "pictures", pictures(results, drawn))
    for name, body_of in _audit_rules.blocks().items():
        text = replaced(text, name, body_of)
    return {page: text}


def merged(files: Iterator[list[dict[str, Any]]]) -> list[dict[str, Any]]:
    """One result for each claim and case, with the tries of all files, in the order of ids; without those that were
    never exercised."""
    found: dict[tuple[str, str], dict[str, Any]] = {}
    for result in (each for results in files for each in results):
        kept = found.setdefault((result["id"], result["case"]), {**result, "tries": []})
        kept["tries"] += result["tries"]
    every = [
        each
        for each in found.values()
        if any(one["outcome"] in ("confirmed", "refuted") for one in each["tries"])
    ]
    return sorted(every, key=lambda each: (each["id"][0], int(each["id"][1:])))


def body(results: list[dict[str, Any]]) -> str:
    parts = []
    for letter, name in SECTIONS.items():
        rows: list[list[str]] = []
        for each in results:
            if each["id"][0] == letter:
                row = _row(each)
                # A claim that has several rows is named in the first one only.
                is_first = not any(known[0] == row[0] for known in rows)
                rows.append(row if is_first else ["", "", *row[2:]])
        if rows:
            parts.append(
                f"### {letter}. {name}\n\n{table(['id', 'claim', 'Kafka', 'outcome', 'figures'], rows)}"
            )
    return "\n\n".join(parts)


def pictures(results: list[dict[str, Any]], drawn: set[str]) -> str:
    """Of the results that have one, each with its claim. drawn: names of scenarios."""
    parts = []
    for each in results:
        name = name_of(each["id"], each["title"], each["case"])
        if name in drawn:
            title = f"{each['id']}: {each['title']}, {each['case']}"
            parts.append(f"### {title}\n\n![{each['claim']}]({IMAGES}/{name}.svg)")
    return "\n\n".join(parts)


def _row(result: dict[str, Any]) -> list[str]:
    why = f"; expected: {result['why']}" if result["why"] else ""
    shown = "; ".join(f"{name}: {value}" for name, value in figures(result["tries"]).items())
    claim = f"{result['claim']} ([source](<{result['source']}>))"
    return [result["id"], claim, result["case"], f"{rate(result['tries'])}{why}", shown]
