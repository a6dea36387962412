"""Real brokers: one three-broker cluster for all tests of a worker that leave it as they found it."""

from __future__ import annotations

import json
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
from pytest_kafkacheck.setup.capabilities import missing_capabilities
from pytest_kafkacheck.setup.class_archives import ensure_class_archives
from tests.support.real_cluster import DISK_MB, backing_files, objects, own
from tests.support.round_trip import through_lines


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


@pytest.fixture(scope="module")  # three idle brokers take a fifth of a core
def disks(engine: Any, tmp_path_factory: pytest.TempPathFactory) -> Iterator[DockerCluster]:
    """Three brokers with disks of their own. Each test leaves it settled."""
    if (why := missing_capabilities(engine, ["disks"])["disks"]) is not None:
        pytest.skip(f"no disks of their own on this engine: {why}")
    run = own("disks")
    with running(
        engine, ClusterSpec(disk_mb=DISK_MB), run=run, logs=tmp_path_factory.mktemp("disks")
    ) as cluster:
        assert len(backing_files(engine, run)) == 3
        yield cluster
    assert objects(engine, run) == []
    assert backing_files(engine, run) == []


@pytest.fixture(scope="module")  # three idle brokers take a fifth of a core
def secured(engine: Any, tmp_path_factory: pytest.TempPathFactory) -> Iterator[DockerCluster]:
    """Two brokers and a controller with TLS, SCRAM and disks of their own."""
    spec = ClusterSpec(brokers=2, controllers=1, security="SASL_SSL", disk_mb=DISK_MB)
    with running(engine, spec, run=own("secured"), logs=tmp_path_factory.mktemp("secured")) as cluster:
        yield cluster


@pytest.fixture(scope="session")
def harness(_kafkacheck_harness: Harness) -> Harness:
    """The harness of the fixture `kafkacheck`, for tests that need more of it."""
    return _kafkacheck_harness


_TRIED: set[str] = set()
"""Workloads of which a run of this process went through JSON lines."""


@pytest.fixture
def kafkacheck(kafkacheck: Any, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    """The fixture of the plugin. The first run of each workload, once its test is over, must be in the schema of JSON
    lines as a whole. `test_round_trip` also judges it again, with the default settings of each workload."""
    yield kafkacheck
    for run in kafkacheck.runs:
        workload = json.loads((run.path / "experiment.json").read_text())["workload"]
        if (name := workload["type"]) not in _TRIED:
            _TRIED.add(name)
            through_lines(run.path, tmp_path_factory.mktemp("lines") / "again")


@pytest.fixture
def own_label(engine: Any, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """A label that only this process knows: no other session's clean-up removes what the test leaves for its own."""
    monkeypatch.setattr(reaper, "RUN", f"kafkacheck.test-{os.getpid()}")
    yield
    for run in reaper.parts_by_run(engine):
        reaper.remove_run(engine, run)
