"""Class archives and cached checkpoints are used, change nothing else, and a broken one does not prevent a start."""

from __future__ import annotations

import uuid
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from kafka import KafkaAdminClient

from pytest_kafkacheck.cluster.docker import images
from pytest_kafkacheck.cluster.docker.boot import running
from pytest_kafkacheck.cluster.docker.cluster import DockerCluster
from pytest_kafkacheck.cluster.docker.engine import connect
from pytest_kafkacheck.cluster.docker.images import image_for
from pytest_kafkacheck.cluster.nodes.launch import format_arguments
from pytest_kafkacheck.cluster.spec.properties import CHECKPOINT, Checkpoint
from pytest_kafkacheck.cluster.spec.spec import ClusterSpec
from pytest_kafkacheck.setup import class_archives
from tests.support.real_cluster import own
from workloads.clients.kafka_python import access

pytestmark = pytest.mark.cluster

ONE = ClusterSpec(brokers=1)


def mapped(cluster: DockerCluster, node: int) -> str:
    """The memory map of the node's JVM."""
    return cluster.nodes[node].execute("cat /proc/1/maps")[1]


def features(cluster: DockerCluster) -> dict[str, Any]:
    client = KafkaAdminClient(**access(cluster.brokers.values()))
    try:
        return {name: levels.get("finalized") for name, levels in client.describe_features().items()}
    finally:
        client.close()


def test_nodes_start_with_their_class_archive(cluster: DockerCluster) -> None:
    for node in cluster.nodes:
        assert "/k/class-archives/kraft.jsa" in mapped(cluster, node)


@pytest.mark.nightly
def test_storage_formatted_without_a_jvm_is_the_same(
    engine: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    levels = {"eligible.leader.replicas.version": 0, "transaction.version": 1}
    spec = ClusterSpec(brokers=1, features=levels)
    kept = Checkpoint(engine.images.get(image_for(spec.version, engine)).id, format_arguments(spec))
    seen, formatted = [], []
    for _ in range(2):
        with running(engine, spec, run=own("format"), logs=tmp_path) as cluster:
            seen.append(features(cluster))
            formatted.append(b"Formatting" in cluster.nodes[1].logs())
            assert cluster.nodes[1].get(CHECKPOINT) == kept.read()
    assert formatted == [True, False]
    assert seen[0] == seen[1]
    assert seen[0]["transaction.version"] == (1, 1)
    assert seen[0].get("eligible.leader.replicas.version") is None


@pytest.mark.nightly
def test_a_broken_class_archive_does_not_prevent_a_start(
    engine: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(images, "REPOSITORY", f"kafkacheck/test-{uuid.uuid4().hex[:8]}")
    image = image_for(ONE.version, engine)
    broken = class_archives.build_archived_image(engine, image, {"kraft": b"no archive"})
    try:
        with running(engine, ONE, run=own("broken"), logs=tmp_path) as cluster:
            assert engine.api.inspect_container(cluster.nodes[1].container)["Config"]["Image"] == broken
            assert "kraft.jsa" not in mapped(cluster, 1)
    finally:
        engine.images.remove(broken, force=True)


def test_the_plain_image_is_used_when_class_archives_cannot_be_made(
    engine: Any, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def full(*_: Any, **__: Any) -> Any:
        raise OSError("no space left on device")

    monkeypatch.setattr(images, "REPOSITORY", f"kafkacheck/test-{uuid.uuid4().hex[:8]}")
    monkeypatch.setattr(class_archives, "_failed", set())
    monkeypatch.setattr(class_archives, "running", full)
    image, lines = image_for(ONE.version, engine), []
    for _ in range(2):
        assert class_archives.ensure_class_archives(engine, ONE.version, image, lines.append) == image
    assert len(lines) == 1, "tried once in a session"
    assert "no space left on device" in caplog.text


@pytest.mark.nightly
def test_two_sessions_make_class_archives_at_the_same_time(
    engine: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(images, "REPOSITORY", f"kafkacheck/test-{uuid.uuid4().hex[:8]}")
    image = image_for("3.9.2", engine)
    with ThreadPoolExecutor() as pool:
        one, two = pool.map(
            lambda client: class_archives.ensure_class_archives(client, "3.9.2", image, print),
            (connect(), connect()),
        )
    try:
        assert one == two != image
        for spec in (
            ClusterSpec(version="3.9.2", brokers=1),
            ClusterSpec(version="3.9.2", brokers=1, zookeepers=1),
        ):
            with running(engine, spec, run=own("both"), logs=tmp_path) as cluster:
                for node in cluster.nodes:
                    assert "/k/class-archives/" in mapped(cluster, node)
    finally:
        engine.images.remove(one, force=True)
