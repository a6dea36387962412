"""The option ``--json`` of every command that prints results: write them into a file, or to standard output."""

from __future__ import annotations

import argparse
import json
from collections.abc import Mapping, Sequence
from pathlib import Path

from pytest_kafkacheck.errors import UsageError


def add_json_option(parser: argparse.ArgumentParser, what: str = "the result") -> None:
    parser.add_argument(
        "--json",
        metavar="OUT",
        nargs="?",
        const="-",
        help=f"write {what} as JSON into this file; without OUT, or with -, to standard output",
    )


def check_json(out: str | None) -> None:
    """Refuse a file that could not be written, before anything starts. Raises UsageError."""
    if out is None or out == "-":
        return
    if Path(out).is_dir():
        raise UsageError(f"--json {out}: is a folder; write --json - for standard output")
    if not Path(out).resolve().parent.is_dir():
        raise UsageError(f"--json {out}: its folder does not exist")


def write_json(out: str, results: Sequence[object] | Mapping[str, object]) -> None:
    """Write the results. Raises UsageError when the file cannot be written."""
    text = json.dumps(results, indent=2)
    if out == "-":
        print(text)
        return
    try:
        Path(out).write_text(text + "\n")
    except OSError as error:
        raise UsageError(f"--json {out}: cannot be written ({error})") from error
