"""One cluster for all workers of an xdist session.

It belongs to the session's controller: whichever worker needs it first starts it, the controller removes it, and if
the controller is killed, the next start anywhere does. Experiments with faults have it for themselves, others use it
together.
"""

from __future__ import annotations

import contextlib
import fcntl
import logging
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from docker.errors import DockerException

from pytest_kafkacheck.cluster.docker import lifecycle, reaper
from pytest_kafkacheck.cluster.docker.boot import running
from pytest_kafkacheck.cluster.docker.cluster import DockerCluster
from pytest_kafkacheck.cluster.docker.connection_info import connection_info
from pytest_kafkacheck.cluster.docker.engine import require_memory
from pytest_kafkacheck.cluster.docker.reattach import reattach
from pytest_kafkacheck.cluster.spec.spec import ClusterSpec
from pytest_kafkacheck.errors import InfrastructureError, KafkacheckError

log = logging.getLogger(__name__)


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
                cluster = self._there(client, run)
                if cluster is None:
                    self._started(run).unlink(missing_ok=True)
                    self._make_room(client, spec)
                    owner = reaper.labels(run, pid=self.owner)
                    cluster = stack.enter_context(
                        running(client, spec, run=run, logs=logs, owner=owner, leave=True)
                    )
                    self._started(run).touch()
            stack.callback(cluster.close)
            yield cluster

    @contextmanager
    def turn(self, spec: ClusterSpec, *, alone: bool) -> Iterator[None]:
        """Wait until the cluster of that spec may be used, by nobody else or together with others."""
        with self._locked(f"{self._run(spec)}.use", fcntl.LOCK_EX if alone else fcntl.LOCK_SH):
            yield

    def _there(self, client: Any, run: str) -> DockerCluster | None:
        """The cluster, mended if need be; None when it has to be started, again or at all."""
        if not self._started(run).exists():
            return None  # or a worker was killed while it started it
        try:
            cluster = reattach(client, run)
            lifecycle.repair(cluster)
        except (KafkacheckError, DockerException, OSError) as error:
            log.warning("the shared cluster %s is started again: %s", run, error)
            return None
        return cluster

    def _make_room(self, client: Any, spec: ClusterSpec) -> None:
        """Where memory is short, remove the session's clusters that nobody uses at the moment."""
        with contextlib.suppress(InfrastructureError):
            require_memory(client, spec)
            return
        for run in reaper.parts_by_run(client):
            if run.startswith(prefix(self.session)) and run != self._run(spec):
                with contextlib.suppress(BlockingIOError), ExitStack() as stack:
                    for lock in ("use", "start"):
                        stack.enter_context(self._locked(f"{run}.{lock}", fcntl.LOCK_EX | fcntl.LOCK_NB))
                    self._started(run).unlink(missing_ok=True)
                    reaper.remove_run(client, run)

    def _started(self, run: str) -> Path:
        """Exists when a start has come to its end."""
        return self.folder / f"kafkacheck-{run}.started"

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


def end(client: Any, session: str, *, keep: bool = False) -> list[str]:
    """Remove or keep all clusters of a session that has ended. For people: how to reach those that are kept."""
    kept = []
    for run in reaper.parts_by_run(client):
        if run.startswith(prefix(session)):
            if keep:
                with contextlib.suppress(KafkacheckError):
                    cluster = reattach(client, run)
                    cluster.keep()
                    kept.append(connection_info(cluster))
            reaper.remove_unless_kept(client, run)
    return kept
