"""Which topics the runs of this user have made on a cluster, and by which process: a file in the user's cache.

A run that was killed leaves its topics, and their replicas are copied after every fault. Its directory may be
anywhere, and other workers may use the cluster, whose topics have names of the same form. Only the process that made
a topic says whether somebody still needs it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path

from pytest_kafkacheck.cluster.docker import reaper
from pytest_kafkacheck.cluster.docker.registers import RegisterFile


class TopicRegister:
    """Of one cluster. Where its file cannot be written or read, nothing is abandoned.

    cluster  its run id.
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
