"""Clusters with TLS and SASL: clients with the credentials connect, others do not, nor in plain text between
nodes."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from pytest_kafkacheck import isolate
from pytest_kafkacheck.cluster.docker.boot import running
from pytest_kafkacheck.cluster.docker.cluster import DockerCluster
from pytest_kafkacheck.cluster.kafka import metadata_views
from pytest_kafkacheck.cluster.spec.member import CONTROLLER, INTERNAL, PORTS
from pytest_kafkacheck.cluster.spec.security import PASSWORD, issue_identity
from pytest_kafkacheck.cluster.spec.spec import ClusterSpec
from pytest_kafkacheck.experiment.experiment import Experiment
from pytest_kafkacheck.experiment.harness import Harness
from tests.support.real_cluster import own, round_of
from workloads.append_log import AppendLog
from workloads.clients.connection import Address
from workloads.clients.security import Security

pytestmark = pytest.mark.cluster

SPECS = {
    "tls": ClusterSpec(brokers=1, security="SSL"),
    "plain": ClusterSpec(security="SASL_PLAINTEXT", mechanism="PLAIN"),
    "plain-tls": ClusterSpec(version="4.4.0", security="SASL_SSL", mechanism="PLAIN"),
    "scram-256": ClusterSpec(version="3.9.2", security="SASL_PLAINTEXT", mechanism="SCRAM-SHA-256"),
    "zookeeper-tls": ClusterSpec(version="2.8.2", zookeepers=1, security="SSL"),
    "zookeeper-scram": ClusterSpec(version="3.9.2", zookeepers=3, control_plane=True, security="SASL_SSL"),
    "zookeeper-2.8": ClusterSpec(
        version="2.8.2", zookeepers=1, security="SASL_SSL", mechanism="SCRAM-SHA-256"
    ),
    "one-listener": ClusterSpec(brokers=1, listeners={"SECURE": "SSL"}),
}


def knocks(address: Address) -> bool:
    """Whether the broker answers a request there."""
    try:
        return bool(metadata_views.unfenced(address))
    except OSError:
        return False


def inside(cluster: DockerCluster, node: int, listener: str) -> Address:
    """The plain-text address of a listener for peers, as any program in the cluster's network sees it."""
    return Address(cluster.nodes[node].addresses[0], PORTS[listener])


def test_a_secured_cluster_accepts_only_clients_with_credentials(secured: DockerCluster) -> None:
    accepts_only_clients_with_credentials(secured)


@pytest.mark.nightly
@pytest.mark.parametrize("spec", SPECS.values(), ids=SPECS)
def test_other_protocols_accept_only_clients_with_credentials(
    engine: Any, tmp_path: Path, spec: ClusterSpec
) -> None:
    with running(engine, spec, run=own("protocols"), logs=tmp_path) as cluster:
        accepts_only_clients_with_credentials(cluster)


def accepts_only_clients_with_credentials(cluster: DockerCluster) -> None:
    spec = cluster.spec
    round_of(cluster)
    for node in cluster.nodes.values():
        for name in node.endpoint.ports:
            if node.member.is_broker:
                protocol = spec.listeners.get(name, spec.security)
                assert_guarded(node.address(name), protocol)
    if spec.security != "PLAINTEXT":
        assert not knocks(inside(cluster, 1, INTERNAL))
        for voter in spec.voters:
            assert not knocks(inside(cluster, voter.id, CONTROLLER))


def test_a_listener_for_peers_without_security_answers_in_plain_text(cluster: DockerCluster) -> None:
    """Shows that the refusals in the tests above are due to the security settings."""
    assert knocks(inside(cluster, 1, INTERNAL))


def assert_guarded(address: Address, protocol: str) -> None:
    assert knocks(address)
    if protocol == "PLAINTEXT":
        return
    security = address.security
    assert security is not None
    assert security.protocol == protocol
    assert not knocks(Address(address.host, address.port)), "in plain text"
    if security.tls:
        stranger = issue_identity(["127.0.0.1"]).ca
        assert not knocks(address._replace(security=replace(security, ca=stranger))), "an unknown authority"
    if security.sasl:
        with pytest.raises(PermissionError, match="kafkacheck"):
            metadata_views.unfenced(address._replace(security=replace(security, password="wrong")))
        with pytest.raises(PermissionError, match="nobody"):
            metadata_views.unfenced(address._replace(security=replace(security, username="nobody")))
        anonymous = Security(protocol="SSL", ca=security.ca) if security.tls else None
        assert not knocks(address._replace(security=anonymous)), "without a name"


@pytest.mark.nightly
@pytest.mark.spark
def test_an_experiment_on_a_secured_cluster_is_valid_and_stores_no_secret(tmp_path: Path) -> None:
    experiment = Experiment(
        workload=AppendLog(acks="all", topic_config={"min.insync.replicas": "2"}, rate=200),
        cluster=ClusterSpec(security="SASL_SSL"),
        faults=[isolate("leader", at=2, lasting=5)],
    )
    with Harness(tmp_path, say=lambda _: None) as harness:
        harness.run(experiment).assert_valid()
    kept = [file for file in tmp_path.rglob("*") if file.is_file()]
    assert len(kept) > 5
    for file in kept:
        content = file.read_bytes()
        assert PASSWORD.encode() not in content, file
        assert b"PRIVATE KEY" not in content, file
