"""Real brokers: one three-broker cluster for all tests of a session that leave it as they found it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from pytest_kafkacheck.cluster.docker.cluster import DockerCluster, running
from pytest_kafkacheck.cluster.docker.engine import connect
from pytest_kafkacheck.cluster.spec.spec import ClusterSpec
from tests.support.real_cluster import own


@pytest.fixture(scope="session")
def engine() -> Iterator[Any]:
    client = connect()
    yield client
    client.close()


@pytest.fixture(scope="session")
def cluster(engine: Any, tmp_path_factory: pytest.TempPathFactory) -> Iterator[DockerCluster]:
    logs: Path = tmp_path_factory.mktemp("logs")
    with running(engine, ClusterSpec(), run=own("tests"), logs=logs) as cluster:
        yield cluster
