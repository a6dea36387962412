"""Brokers are added and removed, lose their data, and change settings and releases, without loss of records."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from kafka.protocol.admin import DescribeConfigsRequest

from pytest_kafkacheck.cluster.docker import lifecycle
from pytest_kafkacheck.cluster.docker.boot import running
from pytest_kafkacheck.cluster.docker.cluster import DockerCluster
from pytest_kafkacheck.cluster.kafka import metadata_views, topics
from pytest_kafkacheck.cluster.spec.spec import ClusterSpec
from pytest_kafkacheck.errors import UsageError
from tests.support.real_cluster import objects, own, read, round_of, wait_until, write
from workloads.clients.connection import ask

pytestmark = pytest.mark.cluster

TOPIC = "kept"


@pytest.fixture(scope="module")
def changing(engine: Any, tmp_path_factory: pytest.TempPathFactory) -> Iterator[DockerCluster]:
    """A cluster that each test leaves settled, with brokers 1 to 3; topics may stay."""
    spec = ClusterSpec(controllers=1, racks=("a", "b", "c"))
    with running(engine, spec, run=own("changing"), logs=tmp_path_factory.mktemp("logs")) as cluster:
        topics.create(cluster.brokers, TOPIC, partitions=3, replication_factor=3)
        wait_until(lambda: cluster.leader(TOPIC, 2) is not None)
        write(cluster, TOPIC, [f"value-{number}" for number in range(100)])
        yield cluster
    assert objects(engine, own("changing")) == []


@pytest.fixture(autouse=True)
def nothing_lost(request: pytest.FixtureRequest) -> Iterator[None]:
    yield
    if "changing" in request.fixturenames:
        cluster = request.getfixturevalue("changing")
        assert lifecycle.unsettled(cluster) is None
        assert sorted(cluster.brokers) == [1, 2, 3]
        assert len(set(read(cluster, TOPIC))) >= 100


def setting(cluster: DockerCluster, node: int, name: str) -> str:
    """The value that the broker itself reports."""
    resource = DescribeConfigsRequest.DescribeConfigsResource(
        resource_type=4, resource_name=str(node), configuration_keys=[name]
    )
    request = DescribeConfigsRequest(version=1, resources=[resource], include_synonyms=False)
    return str(ask(cluster.brokers[node], request, timeout=5).results[0].configs[0].value)


@pytest.mark.nightly
def test_a_broker_is_added_takes_partitions_and_is_removed(changing: DockerCluster) -> None:
    node = lifecycle.add_broker(changing, rack="z")
    assert node == 4
    topics.create(changing.brokers, "moved", assignment={0: [4, 1], 1: [4, 2]})
    wait_until(lambda: changing.leader("moved", 0) == 4)
    write(changing, "moved", ["one", "two"])
    lifecycle.remove_broker(changing, 4)
    assert metadata_views.unfenced(changing.brokers[1]) == {1, 2, 3}
    assert all(4 not in changing.replicas("moved", partition) for partition in (0, 1))
    assert sorted(read(changing, "moved")) == ["one", "two"]
    topics.delete(changing.brokers, "moved")


@pytest.mark.nightly
def test_a_broker_is_removed_only_when_its_replicas_fit_elsewhere(changing: DockerCluster) -> None:
    with pytest.raises(UsageError, match=r"kept-\d has replicas on .* no other broker is free"):
        lifecycle.remove_broker(changing, 2)


@pytest.mark.nightly
def test_a_wiped_broker_copies_everything_from_its_peers(changing: DockerCluster) -> None:
    node = changing.nodes[2]
    (before,) = (
        line for line in node.get("/k/data/meta.properties").decode().splitlines() if "directory" in line
    )
    lifecycle.wipe(changing, 2)
    assert before.encode() not in node.get("/k/data/meta.properties"), "the same disk as before"
    assert 2 in changing.isr(TOPIC, 0)


@pytest.mark.nightly
def test_the_only_controller_is_not_wiped(changing: DockerCluster) -> None:
    with pytest.raises(UsageError, match="the only KRaft controller"):
        lifecycle.wipe(changing, 101)


@pytest.mark.nightly
def test_settings_change_with_and_without_a_restart(changing: DockerCluster) -> None:
    started = {node: changing.nodes[node].incarnation() for node in changing.brokers}
    lifecycle.configure(changing, {"log.retention.ms": 1_234_000})
    lifecycle.configure(changing, {"message.max.bytes": 2_000_000}, nodes=[3])
    wait_until(lambda: setting(changing, 1, "log.retention.ms") == "1234000")
    wait_until(lambda: setting(changing, 3, "message.max.bytes") == "2000000")
    assert setting(changing, 1, "message.max.bytes") != "2000000"
    assert started == {node: changing.nodes[node].incarnation() for node in changing.brokers}
    lifecycle.reconfigure(changing, {"queued.max.requests": 123})
    assert setting(changing, 2, "queued.max.requests") == "123"
    assert changing.spec.config["queued.max.requests"] == "123"
    for node, moment in started.items():
        assert changing.nodes[node].incarnation() != moment


def test_a_setting_that_cannot_change_is_refused(cluster: DockerCluster) -> None:
    for name, value, message in (
        ("queued.max.requests", 7, "reconfigure"),
        ("broker.rack", "x", "Cannot update these configs dynamically"),
        ("num.io.thread", 4, "did you mean 'num.io.threads'"),
        ("node.id", 4, "kafkacheck sets this itself"),
    ):
        with pytest.raises(UsageError, match=message):
            lifecycle.configure(cluster, {name: value})


@pytest.mark.nightly
def test_feature_levels_change_on_a_running_cluster(changing: DockerCluster) -> None:
    for level in (0, 1):
        lifecycle.set_features(changing, {"eligible.leader.replicas.version": level})
    with pytest.raises(UsageError, match="nonsense"):
        lifecycle.set_features(changing, {"nonsense": 1})


@pytest.mark.nightly  # by day, a change of settings and a fault restart one broker after the other
def test_a_rolling_restart_restarts_every_node(changing: DockerCluster) -> None:
    started = {node: changing.nodes[node].incarnation() for node in changing.nodes}
    addresses = dict(changing.brokers)
    lifecycle.rolling_restart(changing)
    assert not {item for item in started.items() if changing.nodes[item[0]].incarnation() == item[1]}
    assert changing.brokers == addresses


def test_a_voter_is_not_removed(cluster: DockerCluster) -> None:
    with pytest.raises(UsageError, match="node 1 votes in the KRaft quorum"):
        lifecycle.remove_broker(cluster, 1)


@pytest.mark.nightly
@pytest.mark.parametrize(
    ("path", "shape"),
    [
        (("4.1.1", "4.2.2", "4.3.1", "4.4.0"), {}),
        (("3.9.2", "4.1.1"), {"controllers": 3}),
        (("2.8.2", "3.9.2"), {"zookeepers": 3}),
        (("4.2.2", "4.1.1"), {"features": {"metadata.version": "4.1-IV1"}}),
    ],
    ids=["kraft", "kraft-3.9", "zookeeper", "down"],
)
def test_a_cluster_is_upgraded_and_downgraded(
    engine: Any, tmp_path: Path, path: tuple[str, ...], shape: dict[str, Any]
) -> None:
    values = [f"value-{number}" for number in range(100)]
    with running(engine, ClusterSpec(version=path[0], **shape), run=own("upgrade"), logs=tmp_path) as cluster:
        topics.create(cluster.brokers, TOPIC, partitions=3, replication_factor=3)
        wait_until(lambda: cluster.leader(TOPIC, 2) is not None)
        write(cluster, TOPIC, values)
        addresses = dict(cluster.brokers)
        for version in path[1:]:
            lifecycle.upgrade(cluster, version)
            assert cluster.spec.version == version
            jars = cluster.nodes[1].execute("ls /opt/kafka/libs")[1]
            assert f"kafka_2.13-{version}.jar" in jars
            round_of(cluster)
        assert sorted(read(cluster, TOPIC)) == sorted(values)
        assert cluster.brokers == addresses
        if path[-1] == "4.4.0":
            lifecycle.set_features(cluster, {"metadata.version": 33})
            round_of(cluster)
    assert objects(engine, own("upgrade")) == []
