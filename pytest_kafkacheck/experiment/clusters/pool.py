"""The cluster that is open at the moment, from its first use to its removal."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

from pytest_kafkacheck.cluster.docker.cluster import DockerCluster
from pytest_kafkacheck.cluster.spec.spec import ClusterSpec
from pytest_kafkacheck.errors import UsageError
from pytest_kafkacheck.experiment.clusters.keeper import Keep, Keeper
from pytest_kafkacheck.experiment.clusters.source import ClusterSource
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
        self._cluster: DockerCluster | None = None
        self._use: _Use | None = None
        self._open = ExitStack()
        self._termination = ExitStack()

    @property
    def kept(self) -> str | None:
        """How to reach the clusters that were left running; None when there are none."""
        return self._keeper.text

    @contextmanager
    def cluster(self, spec: ClusterSpec, *, logs: Path, alone: bool = False) -> Iterator[DockerCluster]:
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

    def _current(self, spec: ClusterSpec, *, logs: Path) -> DockerCluster:
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
