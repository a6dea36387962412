"""Reads one of the JSON files of a run."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any


def json_object(file: Path) -> dict[str, Any]:
    """The object in a file; an empty one if the file is missing, damaged, or holds something else."""
    try:
        data = json.loads(file.read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError):
        return {}
    return data if isinstance(data, dict) else {}
