"""The cluster that is open at the moment, from its first use to its removal, and what the pool asks of a strategy."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, Protocol, cast

from nemesis.event import Event
from pytest_kafkacheck.cluster.docker import reaper
from pytest_kafkacheck.cluster.docker.cluster import DockerCluster
from pytest_kafkacheck.cluster.docker.engine import connect
from pytest_kafkacheck.cluster.docker.reattach import connection_info
from pytest_kafkacheck.cluster.nodes.cluster import AnyCluster
from pytest_kafkacheck.cluster.spec.spec import ClusterSpec
from pytest_kafkacheck.errors import UsageError
from pytest_kafkacheck.setup.capabilities import require_capabilities
from pytest_kafkacheck.termination import interrupts_before_errors, terminated_like_interrupted


@dataclass(frozen=True)
class _Use:
    """What the test that uses the cluster now has asked for."""

    spec: ClusterSpec
    alone: bool


class ClusterPool:
    """Holds at most one open cluster, which may serve several experiments.

    source  where clusters come from.
    keep    which clusters outlive the session, see `Keeper`.
    """

    def __init__(self, source: ClusterSource, *, keep: Keep = "never") -> None:
        self.has_failed = False
        """Whether a test has failed on the open cluster; set from outside."""
        self._source = source
        self._keeper = Keeper(keep)
        self._cluster: AnyCluster | None = None
        self._use: _Use | None = None
        self._open = ExitStack()
        self._termination = ExitStack()

    @property
    def kept(self) -> str | None:
        """How to reach the clusters that were left running; None when there are none."""
        return self._keeper.text

    @contextmanager
    def cluster(self, spec: ClusterSpec, *, logs: Path, alone: bool = False) -> Iterator[AnyCluster]:
        """A cluster of that spec that serves: the open one where it fits, else another one. It outlives the block.

        logs   directory for the nodes' logs should the start fail.
        alone  let no other process use a shared cluster meanwhile.
        Raises UsageError within the block of another such call that has a cluster of another spec, or one together
        with other processes where this call wants it alone.
        """
        if self._use is not None:
            self._check_nested(self._use, _Use(spec, alone))
            assert self._cluster is not None
            yield self._cluster
            return
        self._termination.close()
        self._termination.enter_context(terminated_like_interrupted())
        with interrupts_before_errors(), self._source.turn(spec, alone=alone):
            self._use = _Use(spec, alone)
            try:
                yield self._current(spec, logs=logs)
            finally:
                self._use = None

    def actual_spec(self, spec: ClusterSpec, *, logs: Path) -> ClusterSpec:
        """The spec of the cluster that an experiment gets when it asks for `spec`. May open that cluster."""
        if not self._source.takes_any_spec:
            return spec
        with self.cluster(spec, logs=logs) as cluster:
            return cluster.spec

    def drop(self, *, is_last: bool = False) -> None:
        """Close the open cluster, if there is one. It is removed unless it is kept.

        is_last  the session ends.
        """
        cluster, self._cluster = self._cluster, None
        has_failed, self.has_failed = self.has_failed, False
        try:
            if (
                cluster is not None
                and self._source.may_keep
                and self._keeper.wants(has_failed=has_failed, is_last=is_last)
            ):
                self._keeper.keep(cluster, has_failed=has_failed)
            self._open.close()
        finally:
            if cluster is not None:
                self._source.clean_up(cluster)

    def close(self) -> None:
        """Close the open cluster at the end of the session. May be called again."""
        try:
            self.drop(is_last=True)
        finally:
            self._termination.close()

    def _current(self, spec: ClusterSpec, *, logs: Path) -> AnyCluster:
        self._source.check(spec)
        if self._cluster is not None and self._source.can_reuse(self._cluster, spec):
            return self._cluster
        self.drop()
        self._cluster = self._open.enter_context(self._source.open(spec, logs=logs))
        return self._cluster

    def _check_nested(self, outer: _Use, inner: _Use) -> None:
        if outer.spec != inner.spec and not self._source.takes_any_spec:
            raise UsageError(
                f"this test has a cluster of {outer.spec.describe()} ({outer.spec.digest}) and asks for one of "
                f"{inner.spec.describe()} ({inner.spec.digest}), but a test has one cluster at a time. Give the "
                f"marker and the experiment the same ClusterSpec, or write two tests"
            )
        if self._source.is_shared and inner.alone and not outer.alone:
            raise UsageError(
                "this test uses a cluster together with other workers, and its experiment has faults; mark it "
                "kafkacheck(alone=True)"
            )


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
        """Refuse a spec or a fault that does not go with this source, and prepare what the faults need. Raises
        UsageError, and InfrastructureError where it cannot be prepared."""

    def turn(self, spec: ClusterSpec, *, alone: bool) -> AbstractContextManager[None]:
        """Wait until this process may use the cluster of that spec: by itself, or together with other processes."""

    def can_reuse(self, cluster: AnyCluster, spec: ClusterSpec) -> bool:
        """Whether the open cluster serves an experiment that asks for `spec`. If so, report that to the user."""

    def open(self, spec: ClusterSpec, *, logs: Path) -> AbstractContextManager[AnyCluster]:
        """A cluster that serves, for as long as the block lasts. Reports to the user which one it is.

        logs  directory for the nodes' logs should a start fail.
        Raises InfrastructureError when there is none.
        """

    def clean_up(self, cluster: AnyCluster) -> None:
        """Finish what an interrupted end of the block in `open` may have left. The second layer of clean-up."""


Keep = Literal["never", "failed", "always"]


class Keeper:
    """Keeps clusters as the user asked for, and says how to reach them.

    policy  ``failed``: the cluster of the last failed test. ``always``: also the one that is open at the end.
            ``never``: none.

    With ``failed``, tests that fail on the clusters A and B, and one that passes on C, leave B: keeping a cluster for
    every failure would soon fill the memory.
    """

    def __init__(self, policy: Keep) -> None:
        self._policy = policy
        self._texts: dict[str, str] = {}
        self._last_failed: str | None = None

    @property
    def text(self) -> str | None:
        """How to reach the clusters that were kept; None when there are none."""
        return "\n".join(self._texts.values()) or None

    def wants(self, *, has_failed: bool, is_last: bool) -> bool:
        """Whether to keep a cluster on which a test has failed, or which is the last one of the session."""
        return (has_failed and self._policy != "never") or (is_last and self._policy == "always")

    def keep(self, cluster: AnyCluster, *, has_failed: bool) -> None:
        """Let a cluster run on. Removes the one that was kept for the failure before."""
        kept = cast("DockerCluster", cluster)  # a source of other ones says so by `may_keep`
        started_here = kept.run not in reaper.kept(kept.client)
        kept.keep()
        self._texts[kept.run] = connection_info(kept)
        # A cluster that was taken over belongs to the user already: a later failure does not remove it.
        if has_failed and started_here:
            earlier, self._last_failed = self._last_failed, kept.run
            if earlier is not None:
                del self._texts[earlier]
                reaper.remove_run(kept.client, earlier)


class EngineConnection:
    """Connects at first use: judging a history needs no engine."""

    def __init__(self) -> None:
        self._client: Any = None

    @property
    def client(self) -> Any:
        """A client of the Docker SDK. Raises InfrastructureError when no engine answers."""
        if self._client is None:
            self._client = connect()
        return self._client

    def require_faults(self, faults: Collection[str]) -> None:
        """Raise CapabilityError for faults, by name, that the engine's host cannot do."""
        require_capabilities(self.client, faults)

    def close(self) -> None:
        """Disconnect. May be called again; `client` then connects anew."""
        client, self._client = self._client, None
        if client is not None:
            client.close()
