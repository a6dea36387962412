"""Clusters without an engine: nodes are processes of this machine."""

from __future__ import annotations

import secrets
import time
from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from nemesis.event import Event
from pytest_kafkacheck.cluster.nodes.cluster import AnyCluster
from pytest_kafkacheck.cluster.processes import boot
from pytest_kafkacheck.cluster.spec.spec import ClusterSpec
from pytest_kafkacheck.errors import UsageError
from pytest_kafkacheck.experiment.clusters.pool import EngineConnection
from pytest_kafkacheck.experiment.clusters.started import StartedClusters
from pytest_kafkacheck.setup import processes


class NoEngine(EngineConnection):
    """In place of the Docker engine, for a session whose clusters are plain processes."""

    @property
    def client(self) -> Any:
        raise UsageError(
            "this session's clusters are plain processes, and what it asks for needs the Docker engine"
        )

    def require_faults(self, faults: Collection[str]) -> None:
        processes.require_faults(faults)


class ProcessClusters(StartedClusters):
    """As `StartedClusters`, without an engine. Such a cluster ends with its session, so none is kept or shared."""

    may_keep = False

    def check(self, spec: ClusterSpec, events: Sequence[Event] = ()) -> None:
        boot.require_faults(event.fault.name for event in events)
        super().check(spec, events)
        boot.check(spec)

    @contextmanager
    def open(self, spec: ClusterSpec, *, logs: Path) -> Iterator[AnyCluster]:
        kafka = processes.ensure_kafka_files(spec.version, self._say)
        self._say(f"starting {spec.describe()}, as plain processes")
        begun = time.monotonic()
        with boot.running(spec, run=secrets.token_hex(4), logs=logs, kafka=kafka) as cluster:
            self._say(f"every broker took and gave back a record after {time.monotonic() - begun:.1f} s")
            yield cluster

    def clean_up(self, cluster: AnyCluster) -> None:
        """Nothing: the kernel has removed it."""
