"""The strategy that a session's options ask for."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Literal

from pytest_kafkacheck.errors import UsageError
from pytest_kafkacheck.experiment.clusters.attached import AttachedClusters
from pytest_kafkacheck.experiment.clusters.pool import ClusterSource, EngineConnection
from pytest_kafkacheck.experiment.clusters.processes import ProcessClusters
from pytest_kafkacheck.experiment.clusters.shared import SharedClusters, SharedSession
from pytest_kafkacheck.experiment.clusters.started import KeptClusters, StartedClusters
from workloads.clients.connection import Address
from workloads.clients.security import Security

Engine = Literal["docker", "processes"]
"""What runs the nodes of clusters that a session starts."""


def choose_source(
    engine: EngineConnection,
    say: Callable[[str], None],
    *,
    fresh: bool = False,
    reuse: bool = False,
    attach: str | None = None,
    security: Security | None = None,
    addresses: Mapping[int, Address] | None = None,
    wait: float | None = None,
    shared: SharedSession | None = None,
    without_engine: bool = False,
) -> ClusterSource:
    """The first strategy that applies, in this order: attached, shared, kept (unless `fresh`), started.

    without_engine  start clusters of plain processes. Raises UsageError for the other strategies, which need Docker.

    security, addresses, wait  of the attached cluster, as `AttachedClusters` takes them. Raises UsageError for them
                               without one: other clusters have those of their spec.
    """
    if without_engine:
        if attach is not None or shared is not None or reuse:
            raise UsageError(
                "clusters of plain processes end with their session: they are not attached, shared by workers or "
                "used again by a later session; leave that out, or use Docker"
            )
        return ProcessClusters(engine, say, fresh=fresh)
    if security is not None and attach is None:
        raise UsageError(
            "settings of clients are for a cluster that somebody else runs: name it with --attach "
            "(--kafkacheck-attach), or leave the file out"
        )
    if attach is not None:
        return AttachedClusters(
            engine, say, name=attach, security=security, addresses=addresses, wait=wait, session=shared
        )
    if addresses or wait is not None:
        raise UsageError(
            "a map of addresses, and a limit of waiting, are for a cluster that somebody else runs: name it with "
            "--attach (--kafkacheck-attach), or leave them out"
        )
    if shared is not None:
        return SharedClusters(engine, say, session=shared)
    if reuse and not fresh:
        return KeptClusters(engine, say)
    return StartedClusters(engine, say, fresh=fresh)
