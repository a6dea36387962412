"""Clusters without an engine, for tests of what starts, shares, keeps and removes clusters."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, cast

import pytest

from pytest_kafkacheck.cluster.docker import reaper
from pytest_kafkacheck.cluster.docker.cluster import DockerCluster
from pytest_kafkacheck.cluster.spec.spec import ClusterSpec
from pytest_kafkacheck.experiment.clusters import pool
from pytest_kafkacheck.experiment.clusters.pool import EngineConnection

A, B = ClusterSpec(), ClusterSpec(brokers=1)
"""Two specs."""


@dataclass
class FakeCluster:
    """The parts of a cluster that the pool and its sources use."""

    run: str
    spec: ClusterSpec
    engine: FakeEngine
    is_healthy: bool = True
    is_closed: bool = False
    agents_ended: int = 0
    nodes: tuple[int, ...] = (1, 2, 3)
    bootstrap: tuple[str, ...] = ("127.0.0.1:9092",)

    @property
    def client(self) -> FakeEngine:
        return self.engine

    def healthy(self) -> bool:
        return self.is_healthy

    def keep(self) -> None:
        self.engine.kept.add(self.run)

    def close(self) -> None:
        self.is_closed = True

    def end_agents(self) -> None:
        self.agents_ended += 1


@dataclass
class FakeEngine:
    """An engine that has runs, some of them kept."""

    runs: list[str] = field(default_factory=list)
    kept: set[str] = field(default_factory=set)
    removed: list[str] = field(default_factory=list)

    @property
    def connection(self) -> EngineConnection:
        connection = EngineConnection()
        connection._client = self
        return connection

    def remove(self, run: str) -> None:
        self.removed.append(run)
        self.runs = [each for each in self.runs if each != run]

    def remove_unless_kept(self, run: str) -> None:
        if run not in self.kept and run in self.runs:
            self.remove(run)

    @contextmanager
    def running(
        self, spec: ClusterSpec, *, run: str = "", leave: bool = False, **_: Any
    ) -> Iterator[DockerCluster]:
        """As `cluster.running`: a started cluster, removed at the end unless it is kept, or is to be left."""
        run = run or f"run-{len(self.runs)}"
        self.runs.append(run)
        cluster = FakeCluster(run, spec, self)
        try:
            yield cast(DockerCluster, cluster)
        finally:
            cluster.close()
            if not leave:
                self.remove_unless_kept(run)

    def close(self) -> None:
        pass


def fake_engine(monkeypatch: pytest.MonkeyPatch) -> FakeEngine:
    """An engine that the reaper's functions act on."""
    engine = FakeEngine()
    monkeypatch.setattr(reaper, "kept", lambda _: dict.fromkeys(engine.kept))
    monkeypatch.setattr(reaper, "parts_by_run", lambda _: dict.fromkeys(engine.runs, ()))
    monkeypatch.setattr(reaper, "remove_run", lambda _, run: engine.remove(run))
    monkeypatch.setattr(reaper, "remove_unless_kept", lambda _, run: engine.remove_unless_kept(run))
    monkeypatch.setattr(pool, "connection_info", lambda cluster: f"reach {cluster.run}")
    return engine


def fake(cluster: DockerCluster) -> FakeCluster:
    """The fake that a source returned."""
    return cast(FakeCluster, cast(Any, cluster))


def logs() -> Path:
    """A directory that no test here writes to."""
    return Path("logs")
