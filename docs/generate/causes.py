"""The table of docs/explain.md: the kinds of causes, from the explainers."""

from __future__ import annotations

from pathlib import Path

from _blocks import replaced, table

from analyzers.causes.registry import KINDS

CHANGES = {
    "setting": "a setting",
    "application": "the application",
    "nothing": "nothing: Kafka does not promise otherwise",
    "unknown": "not determined",
}


def generate(root: Path) -> dict[Path, str]:
    page = root / "docs" / "explain.md"
    return {page: replaced(page.read_text(encoding="utf-8"), "causes", body())}


def body() -> str:
    rows = [
        [kind.name, CHANGES[kind.changes], kind.established, kind.why, kind.change or "–", kind.source]
        for kind in KINDS.values()
    ]
    return table(["cause", "what has to be changed", "established by", "why", "try", "source"], rows)
