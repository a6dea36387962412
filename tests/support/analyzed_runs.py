"""Folders of runs that ``kafkacheck analyze`` judges, and what it says of them."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from pytest_kafkacheck.cli import main as cli

ONE = 1 << 40

Runs = Callable[[Mapping[str, Callable[[Any], Any]]], Path]
"""Makes a folder of runs, one for each story, named after it."""


def good(s: Any) -> Any:
    return s.send(ONE, 0).send(ONE + 1, 1).final({0: ONE, 1: ONE + 1}, end=2)


def lost(s: Any) -> Any:
    for sequence in range(4):
        s.send(ONE + sequence, sequence)
    return s.final({3: ONE + 3}, end=4)


def analyzed(tmp_path: Path, *arguments: str) -> tuple[int, dict[str, dict[str, Any]]]:
    """The exit status, and the entries of the JSON by the name of their folder."""
    out = tmp_path / "out.json"
    status = cli.main(["analyze", *arguments, "--json", str(out)])
    return status, {Path(entry["file"]).name: entry for entry in json.loads(out.read_text())}
