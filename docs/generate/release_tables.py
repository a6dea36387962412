"""The tables of docs/versions.md: what each line supports, and what was measured (docs/release_results.json)."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from _blocks import replaced, table

from pytest_kafkacheck.cluster.spec.release import ELR, METADATA, RELEASES, Release

FEATURES = (METADATA, ELR, "transaction.version", "group.version", "share.version", "streams.version")


def generate(root: Path) -> dict[Path, str]:
    page = root / "docs" / "versions.md"
    text = replaced(page.read_text(encoding="utf-8"), "lines", lines())
    measured = json.loads((root / "docs" / "release_results.json").read_text(encoding="utf-8"))
    return {page: replaced(text, "measured lines", results(measured))}


def lines() -> str:
    header = ["line", "tested", "mode", *("ELR" if name == ELR else name for name in FEATURES), "logging"]
    return table(header, [_line(release) for release in RELEASES.values()])


def _line(release: Release) -> list[str]:
    levels = [release.features.get(name) for name in FEATURES]
    cells = [f"{level[0]}–{level[1]} ({level[2]})" if level else "–" for level in levels]
    return [release.line, release.tested, ", ".join(release.modes), *cells, release.logging]


def results(measured: dict[str, dict[str, dict[str, Any]]]) -> str:
    """measured: release to shape to what `tests/cluster/test_releases.py` found."""
    rows = [
        [version, shape, *_measured(found)]
        for version, shapes in measured.items()
        for shape, found in shapes.items()
    ]
    header = ["release", "shape", "ready after (s)", "acks=1", "acks=all, min.insync.replicas=2"]
    return table([*header, "to the next line and back, under load"], rows)


def _measured(found: dict[str, Any]) -> list[str]:
    start = ["–"] * 3
    if "seconds" in found:
        verdicts = (found["losing"], found["keeping"])
        said = (f"{each['result']}: {each['lost']:,} of {each['acks']:,} lost" for each in verdicts)
        start = [f"{found['seconds']:.1f}", *said]
    moved = found.get("moved")
    return [*start, f"{moved['to']}: {moved['result']}" if moved else "–"]
