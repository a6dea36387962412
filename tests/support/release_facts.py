"""Reads from a release's own jars what ``releases.json`` says about its line: settings, features, metadata versions.

    .venv/bin/python -m tests.support.release_facts 4.5.0

fetches the jars with Maven, and writes what they declare to ``releases.json``. It is the tested release of its line
then. It needs Maven and a JDK. docs/CONTRIBUTING.md says what else a new line needs.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from pytest_kafkacheck.cluster.spec.release import FACTS, KRAFT, METADATA, as_number, line_of, lines_of
from pytest_kafkacheck.setup.image_build import fetch_jars

KINDS = ("broker", "topic", "producer", "consumer")


def declared(version: str) -> list[list[str]]:
    """What the classes of a release declare: lines of `ReadRelease.java`, split into fields."""
    with tempfile.TemporaryDirectory(prefix="kafkacheck-") as folder:
        fetch_jars(version, Path(folder))
        command = ["java", "-cp", f"{folder}/*", str(Path(__file__).with_name("ReadRelease.java"))]
        printed = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    return [line.split("\t") for line in printed.splitlines()]


def merged(facts: Mapping[str, Any], version: str, rows: Sequence[Sequence[str]]) -> dict[str, Any]:
    """`releases.json` with what a release declares, in place of what it said about the line."""
    line = line_of(version)
    features: dict[str, list[int]] = {}
    needs: dict[str, int] = {}
    for kind, *row in rows:
        if kind == "metadata":
            features[METADATA] = [int(row[0]), int(row[1]), int(row[1])]
        # Quorums are static, which is kraft.version 0, so it cannot be chosen.
        elif kind == "feature" and row[0] != KRAFT:
            features[row[0]] = [int(level) for level in row[1:4]]
            needs |= {row[0]: int(row[4])} if int(row[4]) else {}
    newest = features.get(METADATA, [0, 0])[1]
    lines = {**facts["lines"], line: {"tested": version, "features": features, "needs": needs}}
    known = sorted(lines, key=as_number)
    levels = {row[1]: int(row[2]) for row in rows if row[0] == "level" and 0 < int(row[2]) <= newest}
    settings: dict[str, dict[str, list[str]]] = {}
    for kind in KINDS:
        types = {row[1]: row[2] for row in rows if row[0] == kind}
        settings[kind] = {}
        for name in sorted({*facts.get(kind, {}), *types}):
            type_, spans = facts.get(kind, {}).get(name, ("", ""))
            others = [each for each in lines_of(spans, facts["lines"]) if each != line]
            of = [each for each in known if each in others or (each == line and name in types)]
            # A setting may change its type; the newest one counts.
            newest_of = of and of[-1] == line
            if of:
                settings[kind][name] = [types[name] if newest_of or not type_ else type_, _spans(of, known)]
    return {
        "lines": {each: lines[each] for each in known},
        "metadata": dict(sorted({**facts["metadata"], **levels}.items(), key=lambda item: item[1])),
        **settings,
    }


def _spans(lines: Sequence[str], known: Sequence[str]) -> str:
    """Such as "2.8-3.9" or "4.2 4.4-": the newest line has no name, so that the next one changes no setting."""
    runs: list[list[str]] = []
    for each in lines:
        if runs and known.index(each) == known.index(runs[-1][-1]) + 1:
            runs[-1].append(each)
        else:
            runs.append([each])
    return " ".join(
        f"{run[0]}-" if run[-1] == known[-1] else run[0] if len(run) == 1 else f"{run[0]}-{run[-1]}"
        for run in runs
    )


def text(facts: Mapping[str, Mapping[str, Any]]) -> str:
    """As JSON, one fact a line."""
    parts = [
        f'"{part}": {{\n'
        + ",\n".join(f'  "{name}": {json.dumps(value)}' for name, value in values.items())
        + "\n }"
        for part, values in facts.items()
    ]
    return "{\n " + ",\n ".join(parts) + "\n}\n"


def main(versions: Sequence[str]) -> None:
    if not versions:
        raise SystemExit("usage: python -m tests.support.release_facts RELEASE …, such as 4.5.0")
    for version in versions:
        facts = json.loads(FACTS.read_text())
        FACTS.write_text(text(merged(facts, version, declared(version))))
        print(f"{FACTS.name}: Kafka {line_of(version)} as in {version}")  # noqa: T201


if __name__ == "__main__":
    main(sys.argv[1:])
