"""Which topics the runs of this user have made on a cluster, and by which process: a file in the user's cache.

A run that was killed leaves its topics, and their replicas are copied after every fault. Its directory may be
anywhere, and other workers may use the cluster, whose topics have names of the same form. Only the process that made
a topic says whether somebody still needs it.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import time
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from pytest_kafkacheck.cluster.docker import reaper

KEPT = 30 * 24 * 3600
"""Seconds after its last run for which the file of a cluster is kept. Most clusters live for minutes."""


class TopicRegister:
    """Of one cluster. A file that cannot be written or read is an empty one: then nothing is abandoned.

    cluster  its run id.
    """

    def __init__(self, cluster: str, *, cache: Path | None = None) -> None:
        self._owner = reaper.labels(cluster)
        name = hashlib.sha256(cluster.encode()).hexdigest()[:16]
        self._path = (cache or _cache()) / "topics" / f"{name}.jsonl"

    def made(self, names: Iterable[str]) -> None:
        """Called before they are made: a run that is killed in between leaves no topic that is missing here."""
        if not self._path.exists():
            self._prune()
        self._append({"made": sorted(names), "owner": self._owner})

    def deleted(self, names: Iterable[str]) -> None:
        """Called after they are deleted."""
        self._append({"deleted": sorted(names)})

    def abandoned(self) -> set[str]:
        """Topics of processes that have ended, and of earlier runs of this one. Call it before `made`."""
        owners: dict[str, Mapping[str, str]] = {}
        for row in self._rows():
            owners |= dict.fromkeys(row.get("made", ()), row.get("owner", {}))
            for name in row.get("deleted", ()):
                owners.pop(name, None)
        return {name for name, owner in owners.items() if owner == self._owner or reaper.is_orphaned(owner)}

    def _append(self, row: Mapping[str, Any]) -> None:
        with contextlib.suppress(OSError):
            self._path.parent.mkdir(parents=True, exist_ok=True)
            # One write in append mode: lines of several processes do not mix.
            with self._path.open("ab", buffering=0) as file:
                file.write(json.dumps(row).encode() + b"\n")

    def _prune(self) -> None:
        with contextlib.suppress(OSError):
            for file in self._path.parent.glob("*.jsonl"):
                if time.time() - file.stat().st_mtime > KEPT:
                    file.unlink(missing_ok=True)

    def _rows(self) -> list[dict[str, Any]]:
        rows = []
        with contextlib.suppress(OSError):
            for line in self._path.read_bytes().splitlines():
                with contextlib.suppress(ValueError):  # the last line of a process that was killed
                    rows.append(json.loads(line))
        return [row for row in rows if isinstance(row, dict)]


def _cache() -> Path:
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "kafkacheck"
