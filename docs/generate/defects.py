"""The table in docs/defects.md: known defects, and what docs/defect_results says that was found."""

from __future__ import annotations

import json
from pathlib import Path

from _blocks import replaced, table

from pytest_kafkacheck.cli.defects import outcome_text, way
from pytest_kafkacheck.defects.showing import Shown
from pytest_kafkacheck.defects.table import DEFECTS, Defect

HEADINGS = [
    "defect",
    "what goes wrong",
    "affected",
    "shown by",
    "directed",
    "mended",
    "blind",
    "mended",
    "seen",
]
TRACKER = "https://issues.apache.org/jira/browse/"


def generate(root: Path) -> dict[Path, str]:
    page = root / "docs" / "defects.md"
    files = sorted((root / "docs" / "defect_results").glob("*.json"))
    shown = [
        Shown(**{name: value for name, value in each.items() if name != "as_expected"})
        for file in files
        for each in json.loads(file.read_text(encoding="utf-8"))
    ]
    rows = [_row(defect, [each for each in shown if each.defect == defect.id]) for defect in DEFECTS]
    return {page: replaced(page.read_text(encoding="utf-8"), "defects", table(HEADINGS, rows))}


def _row(defect: Defect, shown: list[Shown]) -> list[str]:
    name = f"[{defect.id}]({TRACKER}{defect.id})" if defect.id.startswith("KAFKA-") else defect.id
    results = [
        _result(defect, shown, how, is_control)
        for how in ("directed", "blind")
        for is_control in (False, True)
    ]
    seen = dict.fromkeys(each.seen for each in shown if each.outcome == "found" and not each.is_control)
    return [name, defect.does, defect.affected, way(defect), *results, "; ".join(seen)]


def _result(defect: Defect, shown: list[Shown], how: str, is_control: bool) -> str:
    if is_control and defect.control is None:
        return "open"
    found = [each for each in shown if (each.how, each.is_control) == (how, is_control)]
    return "; ".join(f"{each.release}: {outcome_text(each)}" for each in found) or "–"
