"""A run through JSON lines and back: whatever it recorded is in the schema, and is judged the same."""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq

from analyzers.verdict.verdict import Verdict
from workloads.history.lines.export import export_lines
from workloads.history.lines.imports import import_lines
from workloads.history.schema import TABLES

NUMBERS = ("run", "op", "index", "value", "transaction", "source", "delivery", "imported")
"""Columns, and keys of a value, with numbers that an import may choose."""


def through_lines(run: Path, folder: Path) -> Path:
    """Export a run, and import the file into a folder, which then has the same rows. Returns it."""
    file = folder.with_name(f"{folder.name}.jsonl.gz")
    file.parent.mkdir(parents=True, exist_ok=True)
    export_lines(run, file)
    import_lines(file, folder)
    for table in TABLES:
        before, after = rows(run, table), rows(folder, table)
        assert after == before, (list((before - after).items())[:3], list((after - before).items())[:3])
    return folder


def rows(run: Path, table: str) -> Counter[str]:
    """Of a table, without what has no value."""
    return Counter(_plain(row) for row in pq.read_table(run / "history" / table).to_pylist())


def _plain(row: dict[str, Any]) -> str:
    known = {name: each for name, each in row.items() if each not in (None, False) and name not in NUMBERS}
    value = json.loads(row["value"]) if isinstance(row.get("value"), str) else {}
    if more := {name: each for name, each in value.items() if each is not None and name not in NUMBERS}:
        known["value"] = more
    return json.dumps(known, sort_keys=True)


def comparable(verdict: Verdict) -> Any:
    """What must not differ: all but numbers of operations, and what is known of a run only to who made it."""
    findings = [
        (each.anomaly, each.count, each.severity, [example["time"] for example in each.examples])
        for each in verdict.findings
    ]
    return findings, replace(
        verdict, findings=(), causes=(), result="unknown" if verdict.unknowns else "valid"
    )
