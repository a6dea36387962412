"""One cluster for all workers of an xdist session.

It belongs to the session's controller: whichever worker needs it first starts it, the controller removes it, and if
the controller is killed, the next start anywhere does. Experiments with faults have it for themselves, others use it
together.
"""

from __future__ import annotations

import fcntl
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pytest_kafkacheck.cluster import lifecycle, reaper
from pytest_kafkacheck.cluster.cluster import DockerCluster, running
from pytest_kafkacheck.cluster.found import found
from pytest_kafkacheck.cluster.spec import ClusterSpec


@dataclass(frozen=True)
class Shared:
    """folder   for locks, the same for all workers.
    session  names the session's clusters, see `remove`.
    owner    process id of the controller.
    """

    folder: Path
    session: str
    owner: int

    @contextmanager
    def cluster(self, client: Any, spec: ClusterSpec, *, logs: Path) -> Iterator[DockerCluster]:
        """The session's cluster of that spec, started if need be; it runs on when the block ends."""
        run = self._run(spec)
        # A worker that dies gives its locks back: the kernel sees to it.
        with ExitStack() as stack:
            with self._locked(f"{run}.start", fcntl.LOCK_EX):
                if run in reaper.parts_by_run(client):
                    cluster = found(client, run)
                    lifecycle.mend(cluster)
                else:
                    owner = reaper.labels(run, pid=self.owner)
                    cluster = stack.enter_context(
                        running(client, spec, run=run, logs=logs, owner=owner, leave=True)
                    )
            stack.callback(cluster.close)
            yield cluster

    @contextmanager
    def turn(self, spec: ClusterSpec, *, alone: bool) -> Iterator[None]:
        """Wait until the cluster of that spec may be used, by nobody else or together with others."""
        with self._locked(f"{self._run(spec)}.use", fcntl.LOCK_EX if alone else fcntl.LOCK_SH):
            yield

    def _run(self, spec: ClusterSpec) -> str:
        return f"{prefix(self.session)}{spec.digest[:8]}"

    @contextmanager
    def _locked(self, name: str, how: int) -> Iterator[None]:
        with (self.folder / f"kafkacheck-{name}.lock").open("w") as file:
            fcntl.flock(file, how)
            yield


def prefix(session: str) -> str:
    """What the names of a session's clusters begin with."""
    return f"shared-{session}-"


def remove(client: Any, session: str) -> None:
    """Remove all clusters of a session that has ended."""
    for run in reaper.parts_by_run(client):
        if run.startswith(prefix(session)):
            reaper.remove_run(client, run)
