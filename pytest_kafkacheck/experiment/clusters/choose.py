"""The strategy that a session's options ask for."""

from __future__ import annotations

from collections.abc import Callable

from pytest_kafkacheck.errors import UsageError
from pytest_kafkacheck.experiment.clusters.attached import AttachedClusters
from pytest_kafkacheck.experiment.clusters.pool import ClusterSource, EngineConnection
from pytest_kafkacheck.experiment.clusters.shared import SharedClusters, SharedSession
from pytest_kafkacheck.experiment.clusters.started import KeptClusters, StartedClusters
from workloads.clients.security import Security


def choose_source(
    engine: EngineConnection,
    say: Callable[[str], None],
    *,
    fresh: bool = False,
    reuse: bool = False,
    attach: str | None = None,
    security: Security | None = None,
    shared: SharedSession | None = None,
) -> ClusterSource:
    """The first strategy that applies, in this order: attached, shared, kept (unless `fresh`), started.

    security  of the attached cluster. Raises UsageError without one: other clusters have that of their spec.
    """
    if security is not None and attach is None:
        raise UsageError(
            "settings of clients are for a cluster that somebody else runs: name it with --attach "
            "(--kafkacheck-attach), or leave the file out"
        )
    if attach is not None:
        return AttachedClusters(engine, say, name=attach, security=security, session=shared)
    if shared is not None:
        return SharedClusters(engine, say, session=shared)
    if reuse and not fresh:
        return KeptClusters(engine, say)
    return StartedClusters(engine, say, fresh=fresh)
