"""Every supported shape of cluster takes records, survives a kill, and is torn down.

The releases are the oldest and the newest one, and some of each mode between them; `test_releases` has all lines.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from kafka import KafkaAdminClient

from pytest_kafkacheck.cluster.docker import lifecycle
from pytest_kafkacheck.cluster.docker.boot import running
from pytest_kafkacheck.cluster.docker.cluster import DockerCluster
from pytest_kafkacheck.cluster.kafka import metadata_views
from pytest_kafkacheck.cluster.kafka.served_cluster import broker_release
from pytest_kafkacheck.cluster.spec.member import CONTROL_PLANE
from pytest_kafkacheck.cluster.spec.release import KRAFT as KRAFT_VERSION
from pytest_kafkacheck.cluster.spec.release import METADATA, release_of
from pytest_kafkacheck.cluster.spec.spec import ClusterSpec
from tests.support.real_cluster import objects, round_of, wait_until
from workloads.clients.kafka_python import access

pytestmark = [pytest.mark.cluster, pytest.mark.nightly]

RACKS: dict[str, Any] = {"racks": ("a", "b", "c"), "listeners": {"ADMIN": "PLAINTEXT", "OTHER": "PLAINTEXT"}}

KRAFT: dict[str, dict[str, Any]] = {
    "combined-1": {"brokers": 1},
    "combined-2": {"brokers": 2},
    "combined-3": {"brokers": 3},
    "combined-5": {"brokers": 5},
    "combined-9": {"brokers": 9, "heap_mb": 256},
    "controllers-1": {"brokers": 3, "controllers": 1},
    "controllers-3": {"brokers": 3, "controllers": 3},
    "controllers-5": {"brokers": 3, "controllers": 5},
    "racks-listeners": {"brokers": 3, **RACKS},
}
ZOOKEEPER: dict[str, dict[str, Any]] = {
    "zookeeper-1": {"zookeepers": 1},
    "zookeeper-3": {"zookeepers": 3},
    "zookeeper-1-control-plane": {"zookeepers": 1, "control_plane": True},
    "zookeeper-3-control-plane": {"zookeepers": 3, "control_plane": True, **RACKS},
}


def kraft(version: str) -> dict[str, dict[str, Any]]:
    oldest = release_of(version).features[METADATA][0]
    return {**KRAFT, "oldest-metadata": {"brokers": 1, "features": {METADATA: oldest}}}


VERSIONS = {
    "2.8.2": ZOOKEEPER,
    "3.7.2": kraft("3.7.2"),
    "3.9.2": kraft("3.9.2") | ZOOKEEPER,
    **{version: kraft(version) for version in ("4.1.1", "4.4.0")},
}

CELLS = [(version, shape) for version, shapes in VERSIONS.items() for shape in shapes]


def check_features(cluster: DockerCluster) -> None:
    """The brokers support the features and levels of release.py, and have the levels of the spec."""
    admin = KafkaAdminClient(**access(cluster.brokers.values()))
    try:
        described = admin.describe_features()
    finally:
        admin.close()
    spec, known = cluster.spec, cluster.spec.release.features
    assert described.keys() - {KRAFT_VERSION} == known.keys()
    for name, (least, most, usual) in known.items():
        lowest, highest = described[name]["supported"]
        assert (lowest <= least, highest) == (True, most), name
        # The other levels follow the metadata version.
        if name in spec.features or METADATA not in spec.features:
            _, finalized = described[name].get("finalized", (0, 0))
            assert finalized == spec.features.get(name, usual), name


@pytest.mark.parametrize(("version", "shape"), CELLS, ids=map("-".join, CELLS))
def test_a_topology(engine: Any, tmp_path: Path, version: str, shape: str) -> None:
    spec = ClusterSpec(version=version, **VERSIONS[version][shape])
    run = f"topology-{version}-{shape}".replace(".", "-")
    with running(engine, spec, run=run, logs=tmp_path) as cluster:
        assert tuple(sorted(cluster.nodes)) == spec.nodes
        assert cluster.healthy()
        releases = {broker_release(address) for address in cluster.brokers.values()}
        if spec.kraft:
            check_features(cluster)
            assert releases == {spec.release.number}
        else:
            assert max(releases) < (4, 0)
        wait_until(lambda: cluster.controller() in cluster.nodes)
        round_of(cluster)
        # Kill the controller. Where there is no other one, all nodes wait until it is back.
        controller = cluster.controller()
        assert controller is not None
        cluster.nodes[controller].kill()
        if not spec.kraft or len(spec.voters) > 2:
            wait_until(lambda: cluster.controller() not in (None, controller))
        cluster.nodes[controller].start()
        lifecycle.wait_settled(cluster)
        for keeper in (node for node in cluster.nodes.values() if node.member.role == "zookeeper"):
            keeper.restart()
            lifecycle.wait_settled(cluster)
        round_of(cluster)
        settings = cluster.nodes[1].execute("cat /k/server.properties")[1]
        assert (f"control.plane.listener.name={CONTROL_PLANE}" in settings) == spec.control_plane
        for name in spec.listeners:
            for node in cluster.nodes.values():
                if node.member.is_broker:
                    assert metadata_views.unfenced(node.address(name)) == set(cluster.brokers)
    assert objects(engine, run) == []
