"""From a ClusterSpec to each node's server.properties."""

from __future__ import annotations

from dataclasses import dataclass

from pytest_kafkacheck.cluster.spec import ClusterSpec

INTERNAL_PORT = 9092
CONTROLLER_PORT = 9093
EXTERNAL_PORT = 9094
"""Ports in a node's namespace: replication and admin, the controller quorum, clients on the host."""

DATA = "/k/data"

FAST = {
    # Kafka's defaults make a failover take 9 to 45 s. These keep every mechanism and shorten the waits.
    "broker.session.timeout.ms": "3000",
    "broker.heartbeat.interval.ms": "500",
    "replica.lag.time.max.ms": "2000",
    "replica.fetch.wait.max.ms": "100",
    "replica.socket.timeout.ms": "2000",
    "controller.quorum.fetch.timeout.ms": "1000",
    "controller.quorum.election.timeout.ms": "500",
    "unclean.leader.election.interval.ms": "1000",
    "auto.leader.rebalance.enable": "false",
    "auto.create.topics.enable": "false",
    "group.initial.rebalance.delay.ms": "0",
    "group.min.session.timeout.ms": "1000",
    "offsets.topic.num.partitions": "1",
    "transaction.state.log.num.partitions": "1",
    "share.coordinator.state.topic.num.partitions": "1",
    "log.initial.task.delay.ms": "500",
    # Without these four a cut of 20 s works on for up to 7 s after its heal, and a silent controller
    # blocks ISR changes for 30 s.
    "request.timeout.ms": "2000",
    "socket.connection.setup.timeout.ms": "500",
    "socket.connection.setup.timeout.max.ms": "1000",
    "controller.socket.timeout.ms": "1000",
}


@dataclass(frozen=True)
class Place:
    """Where a node stands: its id and the host port its clients use."""

    node: int
    client_port: int


def host_of(node: int) -> str:
    """The name peers know a node by."""
    return f"kafka{node}"


def render(spec: ClusterSpec, place: Place) -> str:
    """server.properties of one node; the user's settings win over the fast profile."""
    copies = str(min(3, spec.brokers))
    voters = ",".join(f"{node}@{host_of(node)}:{CONTROLLER_PORT}" for node in spec.nodes)
    properties = {
        **FAST,
        "default.replication.factor": copies,
        "offsets.topic.replication.factor": copies,
        "transaction.state.log.replication.factor": copies,
        "transaction.state.log.min.isr": str(min(2, spec.brokers)),
        "share.coordinator.state.topic.replication.factor": copies,
        "share.coordinator.state.topic.min.isr": str(min(2, spec.brokers)),
        **spec.config,
        "process.roles": "broker,controller",
        "node.id": str(place.node),
        "controller.quorum.voters": voters,
        "controller.listener.names": "CONTROLLER",
        "inter.broker.listener.name": "INTERNAL",
        "listener.security.protocol.map": "CONTROLLER:PLAINTEXT,INTERNAL:PLAINTEXT,EXTERNAL:PLAINTEXT",
        "listeners": f"CONTROLLER://:{CONTROLLER_PORT},INTERNAL://:{INTERNAL_PORT},EXTERNAL://:{EXTERNAL_PORT}",
        "advertised.listeners": (
            f"INTERNAL://{host_of(place.node)}:{INTERNAL_PORT},EXTERNAL://127.0.0.1:{place.client_port}"
        ),
        "log.dirs": DATA,
    }
    return "".join(f"{name}={value}\n" for name, value in sorted(properties.items()))
