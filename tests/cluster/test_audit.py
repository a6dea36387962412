"""The audit of real brokers: what it reads is what they were given, and it changes nothing."""

from __future__ import annotations

import json
from typing import Any

import pytest
from kafka.admin import (
    ACL,
    ACLOperation,
    ACLPermissionType,
    ConfigResource,
    ConfigResourceType,
    KafkaAdminClient,
    ResourcePattern,
    ResourceType,
)

from pytest_kafkacheck.cli.main import main
from pytest_kafkacheck.cluster.docker.boot import running
from pytest_kafkacheck.cluster.docker.cluster import DockerCluster
from pytest_kafkacheck.cluster.kafka import topics
from pytest_kafkacheck.cluster.spec import spec as spec_module
from pytest_kafkacheck.cluster.spec.spec import ClusterSpec
from tests.support.real_cluster import own, wait_until

pytestmark = pytest.mark.cluster


def audit(cluster: DockerCluster, capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, Any]:
    capsys.readouterr()
    status = main(["audit", "--bootstrap", ",".join(cluster.bootstrap), "--json", "-", *arguments])
    return status, json.loads(capsys.readouterr().out)


def of(report: Any, name: str) -> Any:
    return next(each for each in report["subjects"] if name in each["subject"])


def effects(subject: Any) -> dict[str, str]:
    return {each["event"]: each["effect"] for each in subject["outcomes"]}


def test_the_settings_of_running_brokers_are_read(
    cluster: DockerCluster, capsys: pytest.CaptureFixture[str]
) -> None:
    safe, weak = own("safe"), own("weak")
    topics.create(
        cluster.brokers,
        safe,
        assignment={0: [1, 2, 3]},
        config={"min.insync.replicas": "2", "flush.messages": "1"},
    )
    topics.create(
        cluster.brokers, weak, assignment={0: [1, 2]}, config={"unclean.leader.election.enable": "true"}
    )
    # Brokers learn of a topic one after another, and the audit asks only one of them.
    wait_until(lambda: [cluster.kafka.partitions(name) for name in (safe, weak)] == [1, 1])
    admin = KafkaAdminClient(bootstrap_servers=cluster.bootstrap)
    resources = [ConfigResource(ConfigResourceType.TOPIC, name) for name in (safe, weak)]
    before = admin.describe_configs(resources)
    try:
        status, report = audit(cluster, capsys, "--topic", f"*{own('')}*", "--acks", "all")
        assert admin.describe_configs(resources) == before
    finally:
        admin.close()
        for name in (safe, weak):
            topics.delete(cluster.brokers, name)
    assert status == 1
    assert not report["problems"]
    found = of(report, safe)
    assert {
        name: found["settings"][name] for name in ("replication", "min_isr", "unclean", "flush_messages")
    } == {
        "replication": 3,
        "min_isr": 2,
        "unclean": False,
        "flush_messages": 1,
    }
    assert (found["settings"]["mode"], found["settings"]["elr"], found["settings"]["controllers"]) == (
        "kraft",
        True,
        3,
    )
    assert found["settings"]["version"] == "4.1"
    assert found["origins"]["min_isr"] == "topic"
    assert effects(found)["power-loss"] == "keeps"
    assert effects(of(report, weak))["isr-of-one-killed"] == "loses"


@pytest.mark.nightly
@pytest.mark.parametrize(
    ("spec", "version", "expected"),
    [
        (ClusterSpec(version="2.8.2", zookeepers=1), "2.8", {"mode": "zookeeper", "elr": False}),
        (ClusterSpec(version="3.9.2", zookeepers=1), "3.9", {"mode": "zookeeper", "elr": False}),
        (ClusterSpec(version="3.9.2", controllers=1), "3.9", {"mode": "kraft", "controllers": 1}),
        (
            ClusterSpec(
                racks=("a", "b"),
                features={"eligible.leader.replicas.version": 0},
                config={"min.insync.replicas": "2", "unclean.leader.election.enable": "true"},
            ),
            "4.1",
            {"elr": False, "replicas_in_rack": 2, "min_isr": 2, "unclean": True},
        ),
    ],
    ids=["2.8", "3.9-zookeeper", "3.9-kraft", "4.1-racks"],
)
def test_other_kinds_of_brokers_are_read(
    engine: Any,
    tmp_path: Any,
    capsys: pytest.CaptureFixture[str],
    spec: ClusterSpec,
    version: str,
    expected: dict[str, Any],
) -> None:
    with running(engine, spec, run=own("audit"), logs=tmp_path) as cluster:
        topics.create(cluster.brokers, "orders", partitions=1, replication_factor=3)
        _, report = audit(cluster, capsys)
    found = of(report, "topic orders")["settings"]
    assert found["version"] == version
    assert {name: found[name] for name in expected} == expected
    assert not report["problems"]


@pytest.mark.nightly
def test_missing_rights_leave_open_only_what_depends_on_them(
    engine: Any, tmp_path: Any, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A user with Describe on a topic, and without DescribeConfigs."""
    # The authorizer's own settings are not among those that a broker's class of settings knows.
    monkeypatch.setattr(spec_module, "check_settings", lambda *_, **__: None)
    spec = ClusterSpec(
        brokers=3,
        config={
            "authorizer.class.name": "org.apache.kafka.metadata.authorizer.StandardAuthorizer",
            "allow.everyone.if.no.acl.found": "true",
        },
    )
    with running(engine, spec, run=own("rights"), logs=tmp_path) as cluster:
        topics.create(cluster.brokers, "orders", partitions=1, replication_factor=3)
        admin = KafkaAdminClient(bootstrap_servers=cluster.bootstrap)
        admin.create_acls(
            [
                ACL(
                    principal="User:ANONYMOUS",
                    host="*",
                    operation=ACLOperation.DESCRIBE,
                    permission_type=ACLPermissionType.ALLOW,
                    resource_pattern=ResourcePattern(ResourceType.TOPIC, "orders"),
                )
            ]
        )
        admin.close()
        _, report = audit(cluster, capsys, "--acks", "1")
    (problem,) = [each for each in report["problems"] if "orders" in each["tried"]]
    assert problem["remedy"] == "allow DescribeConfigs on Topic to this user"
    found = effects(of(report, "topic orders"))
    assert found["leader-isolated"] == "loses"
    assert found["isr-of-one-killed"] == "unknown"
