"""The strategy of ``--kafkacheck-share=all``: the workers of an xdist session share clusters."""

from __future__ import annotations

import contextlib
import fcntl
import logging
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from docker.errors import DockerException

from nemesis.event import Event
from pytest_kafkacheck.cluster.docker import lifecycle, reaper
from pytest_kafkacheck.cluster.docker.boot import running
from pytest_kafkacheck.cluster.docker.cluster import DockerCluster
from pytest_kafkacheck.cluster.docker.engine import require_memory
from pytest_kafkacheck.cluster.docker.reattach import connection_info, reattach
from pytest_kafkacheck.cluster.nodes.cluster import AnyCluster
from pytest_kafkacheck.cluster.spec.spec import ClusterSpec
from pytest_kafkacheck.errors import InfrastructureError, KafkacheckError
from pytest_kafkacheck.experiment.clusters.pool import EngineConnection
from pytest_kafkacheck.experiment.clusters.started import check_startable, prepare_moves
from pytest_kafkacheck.setup.image_build import prepare

log = logging.getLogger(__name__)


class SharedClusters:
    """One cluster of each spec for all workers. The session's controller owns and removes them.

    Workers gw0 and gw1 both ask for spec A. The one that gets the lock first starts the cluster; the other waits, and
    then uses it as well. When gw0 runs an experiment with faults, it waits until gw1 is not using the cluster, and
    gw1 waits until the faults are healed. Experiments without faults run together.
    """

    takes_any_spec = False
    is_shared = True
    may_keep = False

    def __init__(
        self, engine: EngineConnection, say: Callable[[str], None], *, session: SharedSession
    ) -> None:
        self._engine = engine
        self._say = say
        self._session = session
        self._opened: DockerCluster | None = None

    def check(self, spec: ClusterSpec, events: Sequence[Event] = ()) -> None:
        check_startable(spec)
        prepare_moves(self._engine, spec, events, self._say)

    @contextmanager
    def turn(self, spec: ClusterSpec, *, alone: bool) -> Iterator[None]:
        with self._session.turn(self._session.run_of(spec), alone=alone):
            try:
                yield
            finally:
                if self._opened is not None:
                    self._opened.end_agents()

    def can_reuse(self, cluster: AnyCluster, spec: ClusterSpec) -> bool:
        # Another worker may be repairing it.
        with self._session.locked(f"{cluster.run}.start", fcntl.LOCK_SH):
            if cluster.spec != spec or not cluster.healthy():
                return False
        self._say(f"using the running cluster again ({spec.describe()})")
        return True

    @contextmanager
    def open(self, spec: ClusterSpec, *, logs: Path) -> Iterator[DockerCluster]:
        """The session's cluster of that spec. It runs on when the block ends."""
        prepare(self._engine.client, spec, self._say)
        run = self._session.run_of(spec)
        with ExitStack() as stack:
            with self._session.locked(f"{run}.start", fcntl.LOCK_EX):
                cluster = self._existing(run)
                if (
                    cluster is None or cluster.spec != spec
                ):  # a fault may have moved all nodes to another release
                    self._started(run).unlink(missing_ok=True)
                    self.make_room(spec)
                    cluster = stack.enter_context(
                        running(
                            self._engine.client,
                            spec,
                            run=run,
                            logs=logs,
                            owner=reaper.labels(run, pid=self._session.owner),
                            leave=True,
                        )
                    )
                    self._started(run).touch()
            stack.callback(cluster.close)
            self._say(f"using the cluster {run} together with other workers ({spec.describe()})")
            self._opened = cluster
            try:
                yield cluster
            finally:
                self._opened = None

    def clean_up(self, cluster: AnyCluster) -> None:
        """Nothing: other workers still use the cluster."""

    def _existing(self, run: str) -> DockerCluster | None:
        """The running cluster, repaired if need be; None when it has to be started."""
        if not self._started(run).exists():
            # Without this check, the parts that a killed worker had started would be taken for a cluster.
            return None
        try:
            cluster = reattach(self._engine.client, run)
            lifecycle.repair(cluster)
        except (KafkacheckError, DockerException, OSError) as error:
            log.warning("the shared cluster %s is started again: %s", run, error)
            return None
        return cluster

    def make_room(self, spec: ClusterSpec) -> None:
        """Where memory is short, remove the session's clusters that no worker is using."""
        client = self._engine.client
        with contextlib.suppress(InfrastructureError):
            require_memory(client, spec)
            return
        for run in reaper.parts_by_run(client):
            if self._session.owns(run) and run != self._session.run_of(spec):
                with contextlib.suppress(BlockingIOError), ExitStack() as stack:
                    for lock in ("use", "start"):
                        stack.enter_context(
                            self._session.locked(f"{run}.{lock}", fcntl.LOCK_EX | fcntl.LOCK_NB)
                        )
                    self._started(run).unlink(missing_ok=True)
                    reaper.remove_run(client, run)

    def _started(self, run: str) -> Path:
        """A file that exists once a start is complete."""
        return self._session.folder / f"kafkacheck-{run}.started"


@dataclass(frozen=True)
class SharedSession:
    """What a worker knows of its session.

    folder  for locks, the same for all workers.
    name    part of the names of the session's clusters.
    owner   process id of the controller. If it is killed, the next start of kafkacheck on this host removes the
            session's clusters.

    Locks are files in the folder. The kernel releases them when a worker dies.
    """

    folder: Path
    name: str
    owner: int

    def run_of(self, spec: ClusterSpec) -> str:
        """The run id of the session's cluster of a spec."""
        return f"{_prefix(self.name)}{spec.digest[:8]}"

    def owns(self, run: str) -> bool:
        """Whether a run id is that of one of the session's clusters."""
        return run.startswith(_prefix(self.name))

    def turn(self, cluster: str, *, alone: bool) -> AbstractContextManager[None]:
        """Wait until this worker may use a cluster: by itself, or together with other workers."""
        return self.locked(f"{cluster}.use", fcntl.LOCK_EX if alone else fcntl.LOCK_SH)

    @contextmanager
    def locked(self, name: str, operation: int) -> Iterator[None]:
        """Hold a lock. `operation` is one of `fcntl.flock`; with LOCK_NB, raises BlockingIOError."""
        with (self.folder / f"kafkacheck-{name}.lock").open("w") as file:
            fcntl.flock(file, operation)
            yield


def end_session(client: Any, name: str, *, keep: bool = False) -> list[str]:
    """Remove all clusters of a session that has ended; or keep them, and return how to reach each.

    Called by the controller, when the workers are gone.
    """
    kept = []
    for run in reaper.parts_by_run(client):
        if run.startswith(_prefix(name)):
            if keep:
                with contextlib.suppress(KafkacheckError):
                    cluster = reattach(client, run)
                    cluster.keep()
                    kept.append(connection_info(cluster))
            reaper.remove_unless_kept(client, run)
    return kept


def _prefix(name: str) -> str:
    return f"shared-{name}-"
