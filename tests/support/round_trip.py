"""A run through JSON lines and back: whatever it recorded is in the schema, and is judged the same."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq

from analyzers.verdict.verdict import Verdict
from workloads.history.lines.export import export_lines
from workloads.history.lines.imports import import_lines


def through_lines(run: Path, folder: Path) -> Path:
    """Export a run, and import the file into a folder, which then has as many rows of each kind. Returns it."""
    file = folder.with_name(f"{folder.name}.jsonl.gz")
    file.parent.mkdir(parents=True, exist_ok=True)
    export_lines(run, file)
    import_lines(file, folder)
    assert rows(folder) == rows(run)
    return folder


def rows(run: Path) -> Counter[tuple[str, str, str | None]]:
    """Of the tables, by table, f or kind, and type."""
    counts: Counter[tuple[str, str, str | None]] = Counter()
    for table, name in (("records", "f"), ("operations", "f"), ("observations", "kind")):
        columns = [name] if table == "observations" else [name, "type"]
        for row in pq.read_table(run / "history" / table, columns=columns).to_pylist():
            counts[table, row[name], row.get("type")] += 1
    return counts


def comparable(verdict: Verdict) -> Any:
    """What must not differ: all but numbers of operations, and what is known of a run only to who made it."""
    findings = [
        (each.anomaly, each.count, each.severity, [example["time"] for example in each.examples])
        for each in verdict.findings
    ]
    return findings, replace(
        verdict, findings=(), causes=(), result="unknown" if verdict.unknowns else "valid"
    )
