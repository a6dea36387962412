"""Real brokers: one three-broker cluster for all tests of a session that leave it as they found it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from pytest_kafkacheck.cluster.docker.boot import running
from pytest_kafkacheck.cluster.docker.cluster import DockerCluster
from pytest_kafkacheck.cluster.docker.engine import connect
from pytest_kafkacheck.cluster.docker.images import image_for
from pytest_kafkacheck.cluster.spec.spec import ClusterSpec
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
