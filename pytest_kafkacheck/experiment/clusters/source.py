"""What the pool of clusters asks of a strategy."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Protocol

from nemesis.event import Event
from pytest_kafkacheck.cluster.docker.cluster import DockerCluster
from pytest_kafkacheck.cluster.spec.spec import ClusterSpec


class ClusterSource(Protocol):
    """Where a session gets the clusters for its experiments: a strategy, one in each file of this folder.

    A session has one source. `ClusterPool` holds at most one cluster of it at a time. For each experiment it calls::

        source.check(spec, events)             # refuse what this source cannot do, before anything starts
        with source.turn(spec, alone=True):    # wait until other processes let us use the cluster
            source.can_reuse(cluster, spec)    # where a cluster is open: does it serve once more?
            source.open(spec, logs=folder)     # where none is open, or the open one was closed
            ...                                # the experiment
        source.clean_up(cluster)               # when a cluster is closed, after its own context manager has ended
    """

    @property
    def takes_any_spec(self) -> bool:
        """Whether every experiment runs on the cluster there is, whatever spec it asks for."""

    @property
    def is_shared(self) -> bool:
        """Whether other processes use the same cluster, so that an experiment with faults must wait to be alone."""

    @property
    def may_keep(self) -> bool:
        """Whether this process decides if a cluster outlives the session."""

    def check(self, spec: ClusterSpec, events: Sequence[Event] = ()) -> None:
        """Refuse a spec or a fault that does not go with this source. Raises UsageError."""

    def turn(self, spec: ClusterSpec, *, alone: bool) -> AbstractContextManager[None]:
        """Wait until this process may use the cluster of that spec: by itself, or together with other processes."""

    def can_reuse(self, cluster: DockerCluster, spec: ClusterSpec) -> bool:
        """Whether the open cluster serves an experiment that asks for `spec`. If so, report that to the user."""

    def open(self, spec: ClusterSpec, *, logs: Path) -> AbstractContextManager[DockerCluster]:
        """A cluster that serves, for as long as the block lasts. Reports to the user which one it is.

        logs  directory for the nodes' logs should a start fail.
        Raises InfrastructureError when there is none.
        """

    def clean_up(self, cluster: DockerCluster) -> None:
        """Finish what an interrupted end of the block in `open` may have left. The second layer of clean-up."""
