"""Invalid clusters are refused before anything starts, and nodes get the settings that their release knows."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from pytest_kafkacheck import configure_broker, kill
from pytest_kafkacheck.cluster.spec import properties as profiles
from pytest_kafkacheck.cluster.spec.member import Endpoint
from pytest_kafkacheck.cluster.spec.properties import server_properties, zoo_cfg
from pytest_kafkacheck.cluster.spec.release import RELEASES, release_of
from pytest_kafkacheck.cluster.spec.settings import check_settings, known
from pytest_kafkacheck.cluster.spec.spec import ClusterSpec
from pytest_kafkacheck.errors import KafkacheckError, UsageError
from pytest_kafkacheck.experiment.experiment import Experiment
from pytest_kafkacheck.experiment.harness import Harness
from workloads.append_log import AppendLog


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"brokers": 0}, "ClusterSpec.brokers=0: expected 1 to 9"),
        ({"brokers": "3"}, "ClusterSpec.brokers='3'"),
        ({"version": "4.1.1", "zookeepers": 1}, "removed ZooKeeper mode; use version='3.9.2'"),
        ({"version": "2.8.2"}, "set zookeepers=1, or use version='3.3.2'"),
        ({"version": "3.2.3"}, "set zookeepers=1, or use version='3.3.2'"),
        ({"version": "3.9.2", "zookeepers": 1, "controllers": 1}, "a broker is the controller"),
        ({"control_plane": True}, "KRaft has no such listener"),
        ({"controllers": 2}, "expected 0, 1, 3 or 5"),
        ({"zookeepers": 2}, "expected 0, 1 or 3"),
        ({"racks": "abc"}, "expected names"),
        ({"racks": None}, "ClusterSpec.racks=None"),
        ({"racks": {"a": 1}}, "ClusterSpec.racks={'a': 1}"),
        ({"listeners": None}, "ClusterSpec.listeners=None: expected values by name"),
        ({"listeners": {"ADMIN": "SASL_SSL"}, "security": None}, "ClusterSpec.security=None"),
        ({"features": ["a"]}, "ClusterSpec.features=['a']"),
        ({"config": "a=b"}, "ClusterSpec.config='a=b'"),
        ({"config": {"log.dir": None}}, "ClusterSpec.config['log.dir']=None: expected text"),
        ({"control_plane": []}, "ClusterSpec.control_plane=[]"),
        ({"image": 3}, "ClusterSpec.image=3: expected the name of an image"),
        ({"listeners": {"EXTERNAL": "SSL"}}, "expected a name in capitals"),
        ({"listeners": {"OTHER": "TLS"}}, "expected one of PLAINTEXT, SSL"),
        ({"listeners": {"OTHER": "SASL_SSL"}}, "users are only made"),
        ({"security": "TLS"}, "expected one of PLAINTEXT, SSL"),
        ({"mechanism": "PLAIN"}, "or a security with SASL"),
        ({"security": "SASL_SSL", "mechanism": "GSSAPI"}, "one of PLAIN, SCRAM-SHA-256"),
        (
            {"features": {"eligible.leader.replica": 1}},
            "no such feature to choose at format time; features to choose",
        ),
        ({"features": {"eligible.leader.replicas.version": 2}}, "supports 0 to 1"),
        (
            {"version": "3.9.2", "features": {"eligible.leader.replicas.version": 1}},
            "3.9 has no such feature to choose at format time, which Kafka 4.0, 4.1, 4.2, 4.3, 4.4 has",
        ),
        (
            {"features": {"eligible.leader.replicas.version": 1, "metadata.version": 22}},
            "23 (4.0-IV1) or later",
        ),
        ({"version": "3.9.2", "features": {"metadata.version": 3}}, "3.9 supports 4 to 21"),
        ({"security": "SASL_SSL", "features": {"metadata.version": "3.5-IV1"}}, "or mechanism='PLAIN'"),
        ({"version": "3.9.2", "zookeepers": 1, "features": {"metadata.version": 1}}, "inter.broker.protocol"),
        (
            {"version": "3.9.2", "features": {"transaction.version": 2}},
            "features to choose: metadata.version",
        ),
        ({"features": {"kraft.version": 1}}, "quorums are static"),
        ({"features": {"metadata.version": "4.2-IV0"}}, "'3.3-IV3' to '4.1-IV1'"),
        ({"version": "latest"}, "ClusterSpec.version='latest'"),
        ({"version": "2.7.2"}, "Kafka 2.7 is too old; expected 2.8 or later: 2.8, 3.0"),
        ({"version": "3.10.0"}, "Kafka 3.10 does not exist"),
        ({"version": "3.4.1", "security": "SASL_SSL"}, "or mechanism='PLAIN'"),
        ({"config": {"log.message.format.version": "2.8"}}, "Kafka 4.1 has no such broker setting"),
        ({"heap_mb": 64}, "ClusterSpec.heap_mb=64: expected 200 or more"),
        (
            {"disk_mb": 63},
            "ClusterSpec.disk_mb=63: expected None, for the engine's disk, or 64 to 65536 MiB",
        ),
        ({"disk_mb": 65_537}, "ClusterSpec.disk_mb=65537: expected None"),
        ({"disk_mb": 256.0}, "ClusterSpec.disk_mb=256.0: expected None"),
        ({"disk_mb": True}, "ClusterSpec.disk_mb=True: expected None"),
        ({"config": {"min.insync.replica": 2}}, "did you mean 'min.insync.replicas'"),
        ({"config": {"unclean.leader.election.enable": "yes"}}, "expected true or false"),
        ({"config": {"num.io.threads": "many"}}, "expected a whole number"),
        ({"config": {"cleanup.policy": "delete"}}, "that is a topic setting"),
        ({"config": {"leader.replication.throttled.rate": 9}}, "only on a running broker"),
        ({"version": "4.2.1", "config": {"zookeeper.session.timeout.ms": 9}}, "it is known in 2.8 to 3.9"),
        ({"config": {"node.id": 7}}, "kafkacheck sets this itself"),
        ({"config": {"min.insync.replicas": 4}}, "above brokers=3"),
    ],
)
def test_an_invalid_cluster_is_refused(wrong: dict[str, object], message: str) -> None:
    with pytest.raises(UsageError, match=re.escape(message)):
        ClusterSpec(**wrong)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("levels", "meant"),
    [
        ({"metadata.version": "4.0-IV3"}, {"metadata.version": 25}),
        ({"metadata.version": "4.0"}, {"metadata.version": 25}),
        ({"metadata.version": 23, "eligible.leader.replicas.version": 1},) * 2,
        ({"metadata.version": 7, "eligible.leader.replicas.version": 0},) * 2,
    ],
)
def test_feature_levels_that_kafka_accepts_are_accepted(
    levels: dict[str, int | str], meant: dict[str, int | str]
) -> None:
    assert dict(ClusterSpec(features=levels).features) == dict(sorted(meant.items()))


@pytest.mark.parametrize("line", RELEASES)
def test_a_throttle_can_be_set_only_on_running_brokers(line: str) -> None:
    throttle = {"leader.replication.throttled.rate": "1000000"}
    version = RELEASES[line].tested
    check_settings(throttle, kind="broker", where="settings", version=version, dynamic=True)
    with pytest.raises(UsageError, match="only on a running broker"):
        check_settings(throttle, kind="broker", where="settings", version=version)


def test_usage_errors_are_value_errors_and_kafkacheck_errors() -> None:
    assert issubclass(UsageError, ValueError)
    assert issubclass(UsageError, KafkacheckError)


def properties(spec: ClusterSpec, node: int, **ports: int) -> dict[str, str]:
    (member,) = (each for each in spec.members if each.id == node)
    lines = server_properties(spec, member, Endpoint("127.0.0.1", ports)).splitlines()
    found = dict(line.split("=", 1) for line in lines)
    assert len(found) == len(lines), "a setting is there twice"
    return found


def test_user_settings_override_the_fast_profile_but_not_the_node_s_own_settings() -> None:
    spec = ClusterSpec(config={"broker.session.timeout.ms": 9000})
    found = properties(spec, 2, EXTERNAL=50002)
    assert found["broker.session.timeout.ms"] == "9000"
    assert found["node.id"] == "2"
    assert found["process.roles"] == "broker,controller"
    assert found["advertised.listeners"] == "INTERNAL://kafka2:9092,EXTERNAL://127.0.0.1:50002"
    assert found["controller.quorum.voters"] == "1@kafka1:9093,2@kafka2:9093,3@kafka3:9093"


def test_separate_controllers_vote_and_brokers_do_not() -> None:
    spec = ClusterSpec(brokers=4, controllers=3, racks=("a", "b"), listeners={"ADMIN": "PLAINTEXT"})
    assert spec.nodes == (1, 2, 3, 4, 101, 102, 103)
    broker, controller = properties(spec, 4, EXTERNAL=1, ADMIN=2), properties(spec, 101)
    assert (broker["process.roles"], controller["process.roles"]) == ("broker", "controller")
    assert broker["controller.quorum.voters"] == (
        "101@controller101:9093,102@controller102:9093,103@controller103:9093"
    )
    assert broker["broker.rack"] == "b"
    assert broker["listeners"] == "INTERNAL://:9092,EXTERNAL://:9094,ADMIN://:9100"
    assert broker["advertised.listeners"].endswith("EXTERNAL://127.0.0.1:1,ADMIN://127.0.0.1:2")
    assert controller["listeners"] == "CONTROLLER://:9093"
    assert "advertised.listeners" not in controller


def test_zookeeper_mode_has_no_kraft_settings() -> None:
    spec = ClusterSpec(version="3.9.2", zookeepers=3, control_plane=True)
    found = properties(spec, 1, EXTERNAL=50001)
    assert found["zookeeper.connect"] == "zookeeper201:2181,zookeeper202:2181,zookeeper203:2181"
    assert found["control.plane.listener.name"] == "CONTROL_PLANE"
    assert "CONTROL_PLANE://kafka1:9095" in found["advertised.listeners"]
    assert (
        not {"node.id", "process.roles", "controller.quorum.voters", "broker.session.timeout.ms"}
        & found.keys()
    )
    assert "server.202=zookeeper202:2888:3888" in zoo_cfg(spec).splitlines()
    assert "server." not in zoo_cfg(ClusterSpec(version="3.9.2", zookeepers=1))


@pytest.mark.parametrize("version", [release.tested for release in RELEASES.values()])
def test_nodes_get_only_settings_that_their_release_knows(version: str) -> None:
    """Kafka ignores unknown settings, so a slow default would go unnoticed."""
    spec = ClusterSpec(version=version, zookeepers=0 if release_of(version).kraft else 1)
    text = server_properties(spec, spec.members[-1], Endpoint("127.0.0.1", dict.fromkeys(("EXTERNAL",), 1)))
    given = {line.split("=")[0] for line in text.splitlines()}
    assert given - known("broker", release_of(version).line).keys() == set()
    assert {"replica.lag.time.max.ms", "transaction.state.log.min.isr"} <= given


@pytest.mark.parametrize(
    ("profile", "line"), [("FAST", "2.8"), ("FAST_KRAFT", "4.1"), ("FAST_ZOOKEEPER", "2.8")]
)
def test_every_setting_of_the_fast_profile_exists(profile: str, line: str) -> None:
    assert getattr(profiles, profile).keys() - known("broker", line).keys() == set()


def test_equal_specs_are_equal_and_hash_alike() -> None:
    one = ClusterSpec(config={"num.io.threads": 4})
    two = ClusterSpec(config={"num.io.threads": "4"})
    assert one == two
    assert hash(one) == hash(two)


def test_an_attached_cluster_has_the_named_nodes() -> None:
    spec = ClusterSpec(attached={4: "broker", 5: "combined", 0: "controller", 17: "broker"})
    assert (spec.brokers, spec.controllers, spec.nodes) == (3, 1, (0, 4, 5, 17))
    assert [member.id for member in spec.voters] == [0, 5]
    assert ClusterSpec.from_json(json.loads(json.dumps(spec.to_json()))) == spec
    assert ClusterSpec(attached=tuple(range(12))).brokers == 12
    Experiment(workload=AppendLog(), cluster=spec, faults=[kill(17, at=1, lasting=1)])
    with pytest.raises(UsageError, match="17"):
        Experiment(workload=AppendLog(), cluster=spec, faults=[kill(1, at=1, lasting=1)])
    with pytest.raises(UsageError, match="--kafkacheck-attach"), Harness(Path("unused")) as harness:
        harness.check(Experiment(workload=AppendLog(), cluster=spec))


@pytest.mark.parametrize(
    ("attached", "message"),
    [
        ((), "at least one broker"),
        ({1: "controller"}, "at least one broker"),
        ({1: "leader"}, "no role 'leader'; allowed: combined, broker"),
        ((1, "2"), "ids of nodes"),
        ((-1,), "0 or more"),
        (3, "ids of nodes"),
    ],
)
def test_nodes_that_cannot_be_attached_to_are_refused(attached: object, message: str) -> None:
    with pytest.raises(UsageError, match=message):
        ClusterSpec(attached=attached)  # type: ignore[arg-type]


def test_disks_of_their_own_are_part_of_the_spec() -> None:
    spec = ClusterSpec(disk_mb=64)
    assert ClusterSpec.from_json(json.loads(json.dumps(spec.to_json()))) == spec != ClusterSpec()
    assert spec.digest != ClusterSpec().digest
    assert "disks of 64 MiB" in spec.describe()
    assert ClusterSpec.from_json({"brokers": 1}).disk_mb is None


def test_running_brokers_accept_settings_that_their_file_does_not() -> None:
    Experiment(
        workload=AppendLog(),
        faults=[configure_broker({"leader.replication.throttled.rate": 10_000}, "leader", lasting=1)],
    )
