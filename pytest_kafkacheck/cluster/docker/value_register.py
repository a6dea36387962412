"""Former values of what faults have changed at a cluster, and by which process: a file in the user's cache."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from pytest_kafkacheck.cluster.docker import reaper
from pytest_kafkacheck.cluster.docker.register_file import RegisterFile
from pytest_kafkacheck.cluster.kafka.former_values import FormerValue, Key, Value


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
