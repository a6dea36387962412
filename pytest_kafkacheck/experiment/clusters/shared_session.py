"""An xdist session whose workers share clusters."""

from __future__ import annotations

import contextlib
import fcntl
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pytest_kafkacheck.cluster.docker import reaper
from pytest_kafkacheck.cluster.docker.reattach import connection_info, reattach
from pytest_kafkacheck.cluster.spec.spec import ClusterSpec
from pytest_kafkacheck.errors import KafkacheckError


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
