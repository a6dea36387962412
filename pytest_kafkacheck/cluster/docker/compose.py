"""Exports a cluster as a compose file: the same settings, with fixed ports, that runs without kafkacheck."""

from __future__ import annotations

import base64
import hashlib
from typing import Any

import yaml

from pytest_kafkacheck.cluster.nodes.launch import CONTROLLER_HEAP_MB, compose_dir, format_arguments
from pytest_kafkacheck.cluster.spec.member import EXTERNAL, Endpoint, Member
from pytest_kafkacheck.cluster.spec.properties import (
    DATA,
    listener_protocols,
    published,
    server_properties,
    zoo_cfg,
)
from pytest_kafkacheck.cluster.spec.spec import ClusterSpec
from pytest_kafkacheck.errors import UsageError

FIRST_PORT = 19092
"""Host port of broker 1's EXTERNAL listener; the next brokers follow. The ports of other listeners are 1,000
higher."""

KAFKA = """\
mkdir -p /k
printf '%s' "$$LOGGING" > /k/{log_file}
printf '%s' "$$PROPERTIES" > /k/server.properties
{format}exec java -Xmx{heap}m {log_flag}/k/{log_file} -Dkafka.logs.dir=/tmp -cp '/opt/kafka/libs/*' \\
  kafka.Kafka /k/server.properties
"""
FORMAT = """\
[ -e {data}/meta.properties ] || java -Xmx128m -cp '/opt/kafka/libs/*' kafka.tools.StorageTool \\
  format -t {cluster_id} -c /k/server.properties{arguments} || exit 3
"""
ZOOKEEPER = """\
mkdir -p /k
printf '%s' "$$LOGGING" > /k/{log_file}
printf '%s' "$$PROPERTIES" > /k/zoo.cfg
echo {node} > {data}/myid
exec java -Xmx128m -Dzookeeper.jmx.log4j.disable=true {log_flag}/k/{log_file} -cp '/opt/kafka/libs/*' \\
  org.apache.zookeeper.server.quorum.QuorumPeerMain /k/zoo.cfg
"""


def compose_file(spec: ClusterSpec) -> str:
    """The text of a compose file, equal for equal specs. Raises UsageError for specs that a file cannot express."""
    if secured := [name for name, protocol in listener_protocols(spec).items() if protocol.endswith("SSL")]:
        raise UsageError(
            f"listener {secured[0]} speaks TLS: its private key would have to be in the file; export the cluster "
            f"with security='PLAINTEXT' or 'SASL_PLAINTEXT', or run it by `kafkacheck cluster up`"
        )
    if not spec.kraft and spec.mechanism and spec.mechanism.startswith("SCRAM"):
        raise UsageError(
            "SCRAM with ZooKeeper: a compose file cannot make its users before the brokers start; "
            "use mechanism='PLAIN'"
        )
    if spec.disk_mb is not None:
        raise UsageError(
            f"disk_mb={spec.disk_mb}: a compose file cannot make loop devices; export without it, or run the cluster "
            f"by `kafkacheck cluster up`"
        )
    document = {
        "services": {member.host: _service(spec, member) for member in spec.members},
        "volumes": {f"{member.host}-data": {} for member in spec.members},
    }
    text: str = yaml.dump({"version": "3.4", **document}, Dumper=_Dumper, sort_keys=False, width=1000)
    brokers = ",".join(
        f"localhost:{exported_endpoint(spec, each).ports[EXTERNAL]}"
        for each in spec.members
        if each.is_broker
    )
    return (
        f"# {spec.describe()}. Made by `kafkacheck cluster export`.\n# Bootstrap servers: {brokers}\n{text}"
    )


def exported_endpoint(spec: ClusterSpec, member: Member) -> Endpoint:
    """Where the host reaches a member of an exported cluster."""
    first = FIRST_PORT - 1 if member.is_broker else FIRST_PORT + 9_000 - 1
    ports = {name: first + 1_000 * number + member.id for number, name in enumerate(published(spec, member))}
    return Endpoint("127.0.0.1", ports)


def _service(spec: ClusterSpec, member: Member) -> dict[str, Any]:
    release = spec.release
    inside = published(spec, member)
    at = exported_endpoint(spec, member)
    common = {"log_file": release.log_file, "log_flag": release.log_flag, "data": DATA, "node": member.id}
    logging = (compose_dir() / "image" / release.log_file).read_text()
    if member.role == "zookeeper":
        properties, script = zoo_cfg(spec), ZOOKEEPER.format(**common)
    else:
        heap = spec.heap_mb if member.is_broker else min(CONTROLLER_HEAP_MB, spec.heap_mb)
        arguments = "".join(f" '{argument}'" for argument in format_arguments(spec))
        cluster_id = base64.urlsafe_b64encode(hashlib.sha256(spec.digest.encode()).digest())[:22].decode()
        formatting = FORMAT.format(**common, cluster_id=cluster_id.replace("-", "a"), arguments=arguments)
        script = KAFKA.format(**common, heap=heap, format=formatting if spec.kraft else "")
        properties = server_properties(spec, member, at)
    others = [each.host for each in spec.members if each.role in ("controller", "zookeeper")]
    return {
        "image": _image(spec),
        "hostname": member.host,
        "user": "0",
        "entrypoint": ["sh", "-c"],
        "command": [script],
        "environment": {"LOGGING": logging.replace("$", "$$"), "PROPERTIES": properties.replace("$", "$$")},
        **(
            {"ports": [f"127.0.0.1:{at.ports[name]}:{port}" for name, port in inside.items()]}
            if member.is_broker
            else {}
        ),
        "volumes": [f"{member.host}-data:{DATA}"],
        "healthcheck": {
            "test": ["CMD", "bash", "-c", f"exec 3<>/dev/tcp/localhost/{member.peer_port}"],
            "interval": "2s",
            "retries": 30,
        },
        **({"depends_on": others} if others and member.is_broker else {}),
    }


def _image(spec: ClusterSpec) -> str:
    if spec.image:
        return spec.image
    if tuple(map(int, spec.version.split("."))) >= (3, 7, 0):
        return f"${{KAFKA_IMAGE:-apache/kafka:{spec.version}}}"
    return f"${{KAFKA_IMAGE:?an image of Kafka {spec.version}, see kafkacheck image ls}}"


class _Dumper(yaml.SafeDumper):  # type: ignore[misc]
    """Writes texts of several lines as literal blocks."""


def _text(dumper: yaml.SafeDumper, text: str) -> yaml.ScalarNode:
    return dumper.represent_scalar("tag:yaml.org,2002:str", text, style="|" if "\n" in text else None)


_Dumper.add_representer(str, _text)
