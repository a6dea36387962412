"""A member of a cluster: one JVM, its role, and where it can be reached."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

NodeRole = Literal["combined", "broker", "controller", "zookeeper"]

FIRST_CONTROLLER = 101
FIRST_ZOOKEEPER = 201
"""Ids of brokers start at 1, so that a node's id tells what it is."""

INTERNAL, CONTROLLER, EXTERNAL, CONTROL_PLANE = "INTERNAL", "CONTROLLER", "EXTERNAL", "CONTROL_PLANE"
"""Listeners: replication and admin, the quorum, clients on the host, and ZooKeeper mode's control plane."""

ZOOKEEPER = "ZOOKEEPER"
"""What a ZooKeeper node's client port is listed as among the listeners."""

PORTS = {INTERNAL: 9092, CONTROLLER: 9093, EXTERNAL: 9094, CONTROL_PLANE: 9095, ZOOKEEPER: 2181}
FIRST_EXTRA_PORT = 9100
"""Ports in a node's namespace; those of a spec's own listeners follow from `FIRST_EXTRA_PORT` on."""


@dataclass(frozen=True, kw_only=True)
class Member:
    """rack  None where the cluster has no racks."""

    id: int
    role: NodeRole
    rack: str | None = None

    @property
    def host(self) -> str:
        """The name its peers know it by."""
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
        """Whether it holds the cluster's own state: a KRaft voter or a ZooKeeper node."""
        return self.is_controller or self.role == "zookeeper"

    @property
    def peer_port(self) -> int:
        """A port on which it listens for its peers while it runs."""
        if self.role == "zookeeper":
            return PORTS[ZOOKEEPER]
        return PORTS[CONTROLLER if self.is_controller else INTERNAL]


@dataclass(frozen=True)
class Endpoint:
    """Where the host reaches a member: its address, and a port for each published listener."""

    host: str
    ports: Mapping[str, int]
