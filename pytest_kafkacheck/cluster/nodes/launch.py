"""With which files, environment and command a node's process starts, in a container or not."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

from pytest_kafkacheck.cluster.spec import security
from pytest_kafkacheck.cluster.spec.member import Endpoint, Member
from pytest_kafkacheck.cluster.spec.properties import meta_properties, server_properties, zoo_cfg
from pytest_kafkacheck.cluster.spec.security import Identity
from pytest_kafkacheck.cluster.spec.spec import ClusterSpec

START = Path(__file__).with_name("start.sh").read_text()
"""The shell command. It expects java on the path, Kafka's jars in /opt/kafka/libs, and the files of a `Launch`."""


def compose_dir() -> Path:
    """The directory ``compose/``: inside the package where it is installed, beside it in a checkout."""
    package = Path(__file__).resolve().parents[2]
    packaged = package / "_compose"
    return packaged if packaged.is_dir() else package.parent / "compose"


Boot = Literal["fast", "train", "plain"]

CONTROLLER_HEAP_MB = 256


@dataclass(frozen=True)
class Launch:
    """environment: variables of start.sh. files: absolute path at the node to content."""

    environment: Mapping[str, str]
    files: Mapping[str, bytes] = field(default_factory=dict)


def launch(
    spec: ClusterSpec,
    member: Member,
    endpoint: Endpoint,
    *,
    cluster_id: str,
    identity: Identity | None = None,
    boot: Boot = "fast",
    checkpoint: bytes | None = None,
) -> Launch:
    """The files and the environment with which a member starts.

    cluster_id  KRaft's cluster id
    identity    key and certificate for TLS
    boot        how it starts, see start.sh
    checkpoint  the file that StorageTool would write, see `properties.Checkpoint`; with None StorageTool runs
    """
    logging = spec.release.log_file
    files = {f"/k/{logging}": (compose_dir() / "image" / logging).read_bytes()}
    environment = {
        "BOOT": boot,
        "ROLE": member.role,
        "NODE": str(member.id),
        "LOGGING": f"{spec.release.log_flag}/k/{logging}",
    }
    if member.role == "zookeeper":
        return Launch(environment, {**files, "/k/zoo.cfg": zoo_cfg(spec).encode()})
    heap = spec.heap_mb if member.is_broker else min(CONTROLLER_HEAP_MB, spec.heap_mb)
    environment |= {"HEAP": str(heap), "HEAP_MIN": str(min(256, heap))}
    if spec.disk_mb is not None:
        environment["DURABLE"] = "yes"
    if spec.kraft:
        environment["CLUSTER_ID"] = cluster_id
        environment["FORMAT"] = " ".join(format_arguments(spec))
        if checkpoint is not None:
            files["/k/format/bootstrap.checkpoint"] = checkpoint
            files["/k/format/meta.properties"] = meta_properties(member.id, cluster_id).encode()
    properties = server_properties(spec, member, endpoint, identity=identity)
    return Launch(environment, {**files, "/k/server.properties": properties.encode()})


def format_arguments(spec: ClusterSpec) -> list[str]:
    """Arguments of StorageTool's format besides cluster id and configuration."""
    return [*spec.release.format_arguments(spec.features), *security.format_arguments(spec.mechanism)]
