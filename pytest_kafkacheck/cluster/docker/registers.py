"""Files in the user's cache with what this user's processes have made at a cluster, a JSON object per line.

A killed process cannot report what it leaves. The next session finds here what it wrote down before it acted.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import time
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from pytest_kafkacheck.cluster.docker import reaper
from pytest_kafkacheck.cluster.kafka.former_values import FormerValue, Key, Value
from workloads.user_cache import user_cache


class ValueRegister:
    """Implements `former_values.FormerValues`. Where its file cannot be written or read, nothing is left.

    cluster  its run id.
    """

    def __init__(self, cluster: str, *, cache: Path | None = None) -> None:
        self._owner = reaper.labels(cluster)
        self._file = RegisterFile("values", cluster, cache=cache)

    def own(self, key: Key) -> FormerValue | None:
        value, owner = self._entries().get(key, (None, {}))
        return value if owner == self._owner else None

    def changing(self, key: Key, *, former: Value, made: Value) -> None:
        known = self._entries().get(key)
        if known and known[0].is_left(former):
            # A second change, such as the next beat of a storm.
            former, values = known[0].former, {*known[0].made, made}
        else:
            values = {made}
        self._file.append(
            {"key": list(key), "former": former, "made": sorted(values, key=str), "owner": self._owner}
        )

    def restored(self, keys: Iterable[Key]) -> None:
        if gone := [list(key) for key in keys]:
            self._file.append({"restored": gone})

    def left(self) -> list[FormerValue]:
        return [
            value
            for value, owner in self._entries().values()
            if owner == self._owner or reaper.is_orphaned(owner)
        ]

    def _entries(self) -> dict[Key, tuple[FormerValue, dict[str, str]]]:
        found: dict[Key, tuple[FormerValue, dict[str, str]]] = {}
        for row in self._file.rows():
            if "key" in row:
                key = Key(*row["key"])
                value = FormerValue(key=key, former=row["former"], made=frozenset(row["made"]))
                found[key] = value, row["owner"]
            for each in row.get("restored", ()):
                found.pop(Key(*each), None)
        return found


class TopicRegister:
    """The topics of runs on one cluster. Where its file cannot be written or read, nothing is abandoned.

    cluster  its run id; see `DockerCluster.registered_as`.
    """

    def __init__(self, cluster: str, *, cache: Path | None = None) -> None:
        self._owner = reaper.labels(cluster)
        self._file = RegisterFile("topics", cluster, cache=cache)

    def made(self, names: Iterable[str]) -> None:
        """Called before they are made: a run that is killed in between leaves no topic that is missing here."""
        self._file.append({"made": sorted(names), "owner": self._owner})

    def deleted(self, names: Iterable[str]) -> None:
        """Called after they are deleted."""
        self._file.append({"deleted": sorted(names)})

    def abandoned(self) -> set[str]:
        """Topics of processes that have ended, and of earlier runs of this one. Call it before `made`."""
        owners: dict[str, Mapping[str, str]] = {}
        for row in self._file.rows():
            owners |= dict.fromkeys(row.get("made", ()), row.get("owner", {}))
            for name in row.get("deleted", ()):
                owners.pop(name, None)
        return {name for name, owner in owners.items() if owner == self._owner or reaper.is_orphaned(owner)}


KEPT = 30 * 24 * 3600
"""Seconds after its last change for which a file is kept. Most clusters live for minutes."""


class RegisterFile:
    """A file that cannot be written or read is an empty one.

    kind     what is registered; the name of the folder.
    cluster  its run id.
    """

    def __init__(self, kind: str, cluster: str, *, cache: Path | None = None) -> None:
        name = hashlib.sha256(cluster.encode()).hexdigest()[:16]
        self.path = (cache or user_cache()) / kind / f"{name}.jsonl"

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
