"""ZooKeeper nodes of a cluster that the user runs are found by the brokers' setting zookeeper.connect."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from pytest_kafkacheck.cluster.docker.foreign_ensemble import find_ensemble
from pytest_kafkacheck.cluster.kafka import zookeeper
from pytest_kafkacheck.cluster.spec.member import ZOOKEEPER, Endpoint
from pytest_kafkacheck.cluster.spec.spec import ClusterSpec
from pytest_kafkacheck.errors import UsageError
from workloads.clients.connection import Address, Ensemble

MAIN = "java -cp /opt/* org.apache.zookeeper.server.quorum.QuorumPeerMain zoo.cfg"


def engine(url: str) -> Any:
    def top(name: str, **_: object) -> dict[str, Any]:
        return {"Processes": [["1", "java -cp /opt/* kafka.Kafka x" if name == "kafka" else MAIN]]}

    return SimpleNamespace(api=SimpleNamespace(base_url=url, top=top))


LOCAL = engine("http+docker://localhost")
REMOTE = engine("https://engine.example:2376")


def container(name: str, ports: dict[str, Any] | None = None) -> dict[str, Any]:
    return {
        "Id": name,
        "Name": f"/shop-{name}-1",
        "Config": {"Hostname": "4f2a", "Labels": {"com.docker.compose.service": name}},
        "NetworkSettings": {"Networks": {}, "Ports": ports or {}},
    }


PUBLISHED = {"2182/tcp": [{"HostPort": "32182"}], "9092/tcp": None}
CONTAINERS = [container("kafka"), container("zk1"), container("zk2", PUBLISHED)]


def test_each_server_is_the_container_of_that_name() -> None:
    found = find_ensemble(LOCAL, CONTAINERS, "zk1, zk2:2182/kafka/shop", taken={1, 201})
    assert {node: each["Id"] for node, each in found.containers.items()} == {202: "zk1", 203: "zk2"}
    assert found.ports == {202: 2181, 203: 2182}
    assert found.endpoints == {202: Endpoint("", {}), 203: Endpoint("127.0.0.1", {ZOOKEEPER: 32182})}
    assert found.root == "/kafka/shop"


def test_a_server_without_a_container_is_named() -> None:
    with pytest.raises(UsageError, match=r"ZooKeeper node zk9:2181 is in the brokers.*has the name 'zk9'"):
        find_ensemble(LOCAL, CONTAINERS, "zk1:2181,zk9:2181", taken={1})
    with pytest.raises(UsageError, match=r"kafka \(shop-kafka-1\) runs no ZooKeeper"):
        find_ensemble(LOCAL, CONTAINERS, "zk1:2181,kafka:2181", taken={1})


def test_a_server_in_a_remote_engine_has_to_be_published() -> None:
    found = find_ensemble(REMOTE, CONTAINERS, "zk2:2182", taken={1})
    assert found.endpoints == {201: Endpoint("engine.example", {ZOOKEEPER: 32182})}
    with pytest.raises(UsageError, match="publish port 2181 of its container"):
        find_ensemble(REMOTE, CONTAINERS, "zk1:2181", taken={1})


def test_requests_go_below_the_root(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[str] = []

    class Client:
        def __init__(self, *, hosts: str, **_: object) -> None:
            asked.append(hosts)

        def start(self, **_: object) -> None: ...
        def get_children(self, path: str) -> list[str]:
            asked.append(path)
            return ["7"]

        stop = close = lambda _: None

    monkeypatch.setattr(zookeeper, "KazooClient", Client)
    assert zookeeper.registered(Ensemble((Address("a", 1), Address("b", 2)), "/kafka")) == {7}
    assert asked == ["a:1,b:2/kafka", "/brokers/ids"]


def test_an_attached_cluster_with_zookeeper_nodes_is_in_zookeeper_mode() -> None:
    spec = ClusterSpec(attached={1: "broker", 2: "broker", 201: "zookeeper"})
    assert (spec.kraft, spec.zookeepers, spec.voters) == (False, 1, ())
    assert ClusterSpec.from_json(spec.to_json()) == spec
