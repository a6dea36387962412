"""A file in the user's cache with what this user's processes have made at one cluster, a JSON object per line.

A process that was killed tells nobody what it leaves. What it wrote down before it acted is found here by the next.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

KEPT = 30 * 24 * 3600
"""Seconds after its last change for which a file is kept. Most clusters live for minutes."""


class RegisterFile:
    """A file that cannot be written or read is an empty one.

    kind     what is registered; the name of the folder.
    cluster  its run id.
    """

    def __init__(self, kind: str, cluster: str, *, cache: Path | None = None) -> None:
        name = hashlib.sha256(cluster.encode()).hexdigest()[:16]
        self.path = (cache or _cache()) / kind / f"{name}.jsonl"

    def append(self, row: Mapping[str, Any]) -> None:
        if not self.path.exists():
            self._prune()
        with contextlib.suppress(OSError):
            self.path.parent.mkdir(parents=True, exist_ok=True)
            # One write in append mode: lines of several processes do not mix.
            with self.path.open("ab", buffering=0) as file:
                file.write(json.dumps(row).encode() + b"\n")

    def rows(self) -> list[dict[str, Any]]:
        rows = []
        with contextlib.suppress(OSError):
            for line in self.path.read_bytes().splitlines():
                with contextlib.suppress(ValueError):  # the last line of a process that was killed
                    rows.append(json.loads(line))
        return [row for row in rows if isinstance(row, dict)]

    def _prune(self) -> None:
        with contextlib.suppress(OSError):
            for file in self.path.parent.glob("*.jsonl"):
                if time.time() - file.stat().st_mtime > KEPT:
                    file.unlink(missing_ok=True)


def _cache() -> Path:
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "kafkacheck"
