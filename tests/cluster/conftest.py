"""Real brokers: one three-broker cluster for all tests of a worker that leave it as they found it."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from pytest_kafkacheck.cluster.docker import reaper
from pytest_kafkacheck.cluster.docker.boot import running
from pytest_kafkacheck.cluster.docker.cluster import DockerCluster
from pytest_kafkacheck.cluster.docker.engine import connect
from pytest_kafkacheck.cluster.docker.images import image_for
from pytest_kafkacheck.cluster.spec.spec import ClusterSpec
from pytest_kafkacheck.experiment.harness import Harness
from pytest_kafkacheck.setup.class_archives import ensure_class_archives
from tests.support.real_cluster import own


@pytest.fixture(scope="session")
def engine() -> Iterator[Any]:
    client = connect()
    yield client
    client.close()


@pytest.fixture(scope="session")
def cluster(engine: Any, tmp_path_factory: pytest.TempPathFactory) -> Iterator[DockerCluster]:
    logs: Path = tmp_path_factory.mktemp("logs")
    spec = ClusterSpec()
    ensure_class_archives(engine, spec.version, image_for(spec.version, engine), print)
    with running(engine, spec, run=own("tests"), logs=logs) as cluster:
        yield cluster


@pytest.fixture(scope="session")
def harness(_kafkacheck_harness: Harness) -> Harness:
    """The harness of the fixture `kafkacheck`, for tests that need more of it."""
    return _kafkacheck_harness


@pytest.fixture
def own_label(engine: Any, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """A label that only this process knows: no other session's clean-up removes what the test leaves for its own."""
    monkeypatch.setattr(reaper, "RUN", f"kafkacheck.test-{os.getpid()}")
    yield
    for run in reaper.parts_by_run(engine):
        reaper.remove_run(engine, run)
