"""The lines of an imported file on which findings rest: people look for their own text, not for our numbers."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from analyzers.verdict.verdict import Verdict

SHOWN = 200
"""Characters of a line."""

EACH = 3
"""Examples of an anomaly whose lines are shown."""


def evidence_lines(verdict: Verdict, path: Path) -> Iterator[str]:
    """For each finding about sends, the lines of the first ones."""
    from workloads.history.lines.imports import sent_lines
    from workloads.history.lines.parse import BadLines

    if not any("value" in example for finding in verdict.findings for example in finding.examples):
        return
    try:
        numbers = sent_lines(path)
    except BadLines:  # it was moved since it was imported
        return
    wanted = [
        (finding.anomaly, numbers[example["value"]])
        for finding in verdict.findings
        for example in finding.examples[:EACH]
        if example.get("value") in numbers
    ]
    texts = _texts(path, {number for _, number in wanted})
    for anomaly, number in dict.fromkeys(wanted):
        yield f"line {number} ({anomaly}): {texts.get(number, '')}"


def _texts(path: Path, numbers: set[int]) -> dict[int, str]:
    from workloads.history.lines.parse import texts

    return {number: text.strip()[:SHOWN] for number, text in texts(path) if number in numbers}
