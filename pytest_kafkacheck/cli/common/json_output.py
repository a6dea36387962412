"""The option ``--json``: write results into a file, or with ``-`` to standard output."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path

from pytest_kafkacheck.errors import UsageError


def check_json(out: str | None) -> None:
    """Refuse a file that could not be written, before anything starts. Raises UsageError."""
    if out not in (None, "-") and not Path(str(out)).resolve().parent.is_dir():
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
