"""The files with which a member starts, from a ClusterSpec: server.properties, zoo.cfg, and formatted storage.

Storage is formatted without a JVM: the file that StorageTool writes is cached and copied to later nodes. It contains
a cluster's feature levels and SCRAM users, but no id of a cluster or node. So it is the same for all nodes of all
clusters with the same image and the same arguments.
"""

from __future__ import annotations

import hashlib
import os
import secrets
import tempfile
from collections.abc import Sequence

from pytest_kafkacheck.cluster.spec.member import (
    CONTROL_PLANE,
    CONTROLLER,
    EXTERNAL,
    FIRST_EXTRA_PORT,
    INTERNAL,
    PORTS,
    ZOOKEEPER,
    Endpoint,
    Member,
)
from pytest_kafkacheck.cluster.spec.security import Identity, security_properties
from pytest_kafkacheck.cluster.spec.settings import known
from pytest_kafkacheck.cluster.spec.spec import ClusterSpec
from workloads.user_cache import user_cache

DATA = "/k/data"

FAST = {
    # With Kafka's defaults a failover takes 9 to 45 s. These settings keep every mechanism and shorten the waits.
    "replica.lag.time.max.ms": "2000",
    "replica.fetch.wait.max.ms": "100",
    "replica.socket.timeout.ms": "2000",
    "auto.leader.rebalance.enable": "false",
    "auto.create.topics.enable": "false",
    "group.initial.rebalance.delay.ms": "0",
    "group.min.session.timeout.ms": "1000",
    "offsets.topic.num.partitions": "1",
    "transaction.state.log.num.partitions": "1",
    # The default of 128 MiB is a third of the heap, and a dynamic change that restarts the cleaner needs it twice.
    "log.cleaner.dedupe.buffer.size": "8388608",
    # With the default of 15 s, a compacted topic is cleaned once or twice in a run.
    "log.cleaner.backoff.ms": "1000",
    # With the default of 10 s, a transaction may stay open for that much longer than its timeout.
    "transaction.abort.timed.out.transaction.cleanup.interval.ms": "200",
    # Without these four settings a cut of 20 s has effects for up to 7 s after its heal, and a controller that does
    # not answer blocks ISR changes for 30 s.
    "request.timeout.ms": "2000",
    "socket.connection.setup.timeout.ms": "500",
    "socket.connection.setup.timeout.max.ms": "1000",
    "controller.socket.timeout.ms": "1000",
}
FAST_KRAFT = {
    "broker.session.timeout.ms": "3000",
    "broker.heartbeat.interval.ms": "500",
    "controller.quorum.fetch.timeout.ms": "1000",
    "controller.quorum.election.timeout.ms": "500",
    "unclean.leader.election.interval.ms": "1000",
    "share.coordinator.state.topic.num.partitions": "1",
    "log.initial.task.delay.ms": "500",
}
FAST_ZOOKEEPER = {
    "zookeeper.session.timeout.ms": "3000",
    "zookeeper.connection.timeout.ms": "10000",
    # With one second, as in KRaft mode, the controller would give up requests to brokers that are only slow.
    "controller.socket.timeout.ms": "3000",
}


def published(spec: ClusterSpec, member: Member) -> dict[str, int]:
    """Ports in the member's network namespace, by listener, for the listeners that this host can reach."""
    if member.role == "zookeeper":
        return {ZOOKEEPER: PORTS[ZOOKEEPER]}
    if member.role == "controller":
        return {CONTROLLER: PORTS[CONTROLLER]}
    extra = {name: FIRST_EXTRA_PORT + number for number, name in enumerate(sorted(spec.listeners))}
    return {EXTERNAL: PORTS[EXTERNAL], **extra}


def listener_protocols(spec: ClusterSpec) -> dict[str, str]:
    """Security protocol by listener name."""
    names = (INTERNAL, EXTERNAL, CONTROL_PLANE) if spec.control_plane else (INTERNAL, EXTERNAL)
    if spec.kraft:
        names = (CONTROLLER, *names)
    return {**dict.fromkeys(names, spec.security), **spec.listeners}


INTERNAL_TOPICS = {
    "__consumer_offsets": "offsets.topic.num.partitions",
    "__transaction_state": "transaction.state.log.num.partitions",
    "__share_group_state": "share.coordinator.state.topic.num.partitions",
}
"""With the setting of their number of partitions."""


def internal_partitions(spec: ClusterSpec, topic: str) -> int:
    """Of an internal topic in a cluster of kafkacheck."""
    return int(spec.config.get(name := INTERNAL_TOPICS[topic], {**FAST, **FAST_KRAFT}[name]))


def server_properties(
    spec: ClusterSpec, member: Member, endpoint: Endpoint, *, identity: Identity | None = None
) -> str:
    """The server.properties of a member. The user's settings override the fast profile.

    identity  key and certificate for TLS.
    """
    supported = known("broker", spec.release.line)
    defaults = {**FAST, **(FAST_KRAFT if spec.kraft else FAST_ZOOKEEPER), **_replication(spec)}
    properties = {
        **{name: value for name, value in defaults.items() if name in supported},
        **spec.config,
        "log.dirs": DATA,
        **(_kraft(spec, member) if spec.kraft else _zookeeper(spec, member)),
        **(_broker(spec, member, endpoint) if member.is_broker else {}),
        **security_properties(
            listener_protocols(spec),
            mechanism=spec.mechanism,
            controller=CONTROLLER if spec.kraft else None,
            identity=identity,
        ),
    }
    return "".join(f"{name}={value}\n" for name, value in sorted(properties.items()))


def zoo_cfg(spec: ClusterSpec) -> str:
    """The zoo.cfg of all ZooKeeper nodes. A tick of 500 ms allows session time-outs of 1 to 10 s."""
    nodes = [member for member in spec.members if member.role == "zookeeper"]
    lines = {
        "tickTime": "500",
        "initLimit": "20",
        "syncLimit": "10",
        "dataDir": DATA,
        "clientPort": str(PORTS[ZOOKEEPER]),
        "maxClientCnxns": "0",
        "admin.enableServer": "false",
        "4lw.commands.whitelist": "*",
        **({f"server.{each.id}": f"{each.host}:2888:3888" for each in nodes} if len(nodes) > 1 else {}),
    }
    return "".join(f"{name}={value}\n" for name, value in lines.items())


def _replication(spec: ClusterSpec) -> dict[str, str]:
    copies, least = str(min(3, spec.brokers)), str(min(2, spec.brokers))
    return {
        "default.replication.factor": copies,
        "offsets.topic.replication.factor": copies,
        "transaction.state.log.replication.factor": copies,
        "transaction.state.log.min.isr": least,
        **({"share.coordinator.state.topic.replication.factor": copies,
            "share.coordinator.state.topic.min.isr": least} if spec.kraft else {}),
    }  # fmt: skip


def _kraft(spec: ClusterSpec, member: Member) -> dict[str, str]:
    roles = {"combined": "broker,controller", "broker": "broker", "controller": "controller"}
    properties = {
        "process.roles": roles[member.role],
        "node.id": str(member.id),
        "controller.quorum.voters": ",".join(
            f"{each.id}@{each.host}:{PORTS[CONTROLLER]}" for each in spec.voters
        ),
        "controller.listener.names": CONTROLLER,
    }
    if member.role == "controller":
        properties["listeners"] = f"{CONTROLLER}://:{PORTS[CONTROLLER]}"
    return properties


def _zookeeper(spec: ClusterSpec, member: Member) -> dict[str, str]:
    nodes = [each for each in spec.members if each.role == "zookeeper"]
    properties = {
        "broker.id": str(member.id),
        "zookeeper.connect": ",".join(f"{each.host}:{PORTS[ZOOKEEPER]}" for each in nodes),
    }
    if spec.control_plane:
        properties["control.plane.listener.name"] = CONTROL_PLANE
    return properties


def _broker(spec: ClusterSpec, member: Member, endpoint: Endpoint) -> dict[str, str]:
    outside = published(spec, member)
    inside = {INTERNAL: PORTS[INTERNAL]}
    if spec.control_plane:
        inside[CONTROL_PLANE] = PORTS[CONTROL_PLANE]
    listening = {**inside, **outside}
    if member.is_controller:
        listening = {CONTROLLER: PORTS[CONTROLLER], **listening}
    advertised = [f"{name}://{member.host}:{port}" for name, port in inside.items()]
    advertised += [f"{name}://{endpoint.host}:{endpoint.ports[name]}" for name in outside]
    return {
        "inter.broker.listener.name": INTERNAL,
        "listeners": ",".join(f"{name}://:{port}" for name, port in listening.items()),
        "advertised.listeners": ",".join(advertised),
        **({"broker.rack": member.rack} if member.rack else {}),
    }


CHECKPOINT = "/k/data/bootstrap.checkpoint"
"""The path to which StorageTool writes it."""


def new_id() -> str:
    """Of a cluster or a directory.

    Kafka accepts any 22 characters of this alphabet, but its tools take a leading dash for an option.
    """
    return secrets.token_urlsafe(16).replace("-", "a").replace("_", "b")


def meta_properties(node: int, cluster_id: str) -> str:
    """The content of meta.properties for a node's new and empty directory."""
    return f"version=1\ncluster.id={cluster_id}\ndirectory.id={new_id()}\nnode.id={node}\n"


class Checkpoint:
    """The cached checkpoint for the id of an image and the arguments of StorageTool's format command."""

    def __init__(self, image: str, arguments: Sequence[str]) -> None:
        digest = hashlib.sha256("\0".join([image, *arguments]).encode()).hexdigest()[:24]
        self._path = user_cache() / f"checkpoint-{digest}"

    def read(self) -> bytes | None:
        """The content, or None when it is not cached."""
        try:
            return self._path.read_bytes()
        except OSError:
            return None

    def write(self, content: bytes) -> None:
        """Cache the content. A failure is ignored: StorageTool then formats the next cluster as well."""
        try:
            self._path.parent.mkdir(parents=True, exist_ok=True)
            with tempfile.NamedTemporaryFile(dir=self._path.parent, delete=False) as file:
                file.write(content)
            os.replace(file.name, self._path)
        except OSError:
            return
