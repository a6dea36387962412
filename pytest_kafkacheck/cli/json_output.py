"""Where ``--json`` writes: a file, or ``-`` for standard output."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

from pytest_kafkacheck.errors import UsageError


def check_json(out: str | None) -> None:
    """Before anything starts. Raises UsageError where nothing could be written."""
    if out not in (None, "-") and not Path(str(out)).resolve().parent.is_dir():
        raise UsageError(f"--json {out}: its folder does not exist")


def write_json(out: str, told: Sequence[object]) -> None:
    """Raises UsageError when it cannot be written."""
    text = json.dumps(told, indent=2)
    if out == "-":
        print(text)
        return
    try:
        Path(out).write_text(text + "\n")
    except OSError as error:
        raise UsageError(f"--json {out}: cannot be written ({error})") from error
