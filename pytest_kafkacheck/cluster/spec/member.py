"""A member of a cluster: one JVM, its role and its names, and the endpoint at which the host reaches it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

NodeRole = Literal["combined", "broker", "controller", "zookeeper"]

FIRST_CONTROLLER = 101
FIRST_ZOOKEEPER = 201
"""Ids of brokers start at 1, so a node's id shows its role."""

INTERNAL, CONTROLLER, EXTERNAL, CONTROL_PLANE = "INTERNAL", "CONTROLLER", "EXTERNAL", "CONTROL_PLANE"
"""Listeners: replication and admin, the quorum, clients on the host, and ZooKeeper mode's control plane."""

ZOOKEEPER = "ZOOKEEPER"
"""Name of a ZooKeeper node's client port in lists of listeners."""

PORTS = {INTERNAL: 9092, CONTROLLER: 9093, EXTERNAL: 9094, CONTROL_PLANE: 9095, ZOOKEEPER: 2181}
FIRST_EXTRA_PORT = 9100
"""Ports in a node's network namespace. Additional listeners of a spec have `FIRST_EXTRA_PORT` and the next ones."""


@dataclass(frozen=True, kw_only=True)
class Member:
    """One node. rack: None where the cluster has no racks."""

    id: int
    role: NodeRole
    rack: str | None = None

    @property
    def host(self) -> str:
        """The host name by which its peers reach it."""
        if self.role == "controller":
            return f"controller{self.id}"
        return f"zookeeper{self.id}" if self.role == "zookeeper" else f"kafka{self.id}"

    @property
    def is_broker(self) -> bool:
        return self.role in ("combined", "broker")

    @property
    def is_controller(self) -> bool:
        """Whether it votes in the KRaft quorum."""
        return self.role in ("combined", "controller")

    @property
    def keeps_metadata(self) -> bool:
        """Whether it stores the cluster's metadata: KRaft voters and ZooKeeper nodes do."""
        return self.is_controller or self.role == "zookeeper"

    @property
    def peer_port(self) -> int:
        """A port on which it accepts connections of its peers while it runs."""
        if self.role == "zookeeper":
            return PORTS[ZOOKEEPER]
        return PORTS[CONTROLLER if self.is_controller else INTERNAL]


@dataclass(frozen=True)
class Endpoint:
    """Where this host reaches a member: an address, and a port for each published listener."""

    host: str
    ports: Mapping[str, int]
