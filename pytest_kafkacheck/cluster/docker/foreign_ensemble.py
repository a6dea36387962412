"""The ZooKeeper nodes of a cluster that the user runs in containers."""

from __future__ import annotations

import itertools
import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from pytest_kafkacheck.cluster.docker.containers import Container, container_named, published_ports
from pytest_kafkacheck.cluster.docker.engine import is_local, reach
from pytest_kafkacheck.cluster.docker.kafka_containers import label, runs_zookeeper
from pytest_kafkacheck.cluster.spec.member import FIRST_ZOOKEEPER, PORTS, ZOOKEEPER, Endpoint
from pytest_kafkacheck.errors import UsageError


@dataclass(frozen=True)
class ForeignEnsemble:
    """containers  by node id. The ids are ours: nothing outside a ZooKeeper node states its own.
    ports       on which they serve clients in their network, by node id.
    endpoints   where this host reaches published ports; empty for a node that it reaches in the container's network.
    root        the path below which the brokers keep their data, such as "/kafka"; "" for none.
    """

    containers: Mapping[int, Container] = field(default_factory=dict)
    ports: Mapping[int, int] = field(default_factory=dict)
    endpoints: Mapping[int, Endpoint] = field(default_factory=dict)
    root: str = ""


def find_ensemble(
    client: Any, containers: Sequence[Container], connect: str, *, taken: Collection[int]
) -> ForeignEnsemble:
    """The nodes of a setting such as "zk1:2181,zk2:2181/kafka".

    taken  ids of other nodes. Raises UsageError for a node whose container, or whose port, cannot be reached.
    """
    servers, _, root = connect.partition("/")
    host, _ = reach(client)
    ids = (node for node in itertools.count(FIRST_ZOOKEEPER) if node not in taken)
    found: dict[int, Container] = {}
    ports: dict[int, int] = {}
    endpoints: dict[int, Endpoint] = {}
    for node, server in zip(ids, filter(None, re.split(r"\s*,\s*", servers.strip())), strict=False):
        name, _, text = server.rpartition(":")
        name, port = (name, int(text)) if name and text.isdigit() else (server, PORTS[ZOOKEEPER])
        container = container_named(name, containers)
        if container is None:
            raise UsageError(
                f"the ZooKeeper node {server} is in the brokers' zookeeper.connect, and none of the given containers "
                f"has the name {name!r}; name its container as well"
            )
        if not runs_zookeeper(client.api, container):
            raise UsageError(
                f"the ZooKeeper node {server} is in the brokers' zookeeper.connect, and {label(container)} runs no "
                f"ZooKeeper; name the container that does"
            )
        found[node], ports[node] = container, port
        public = [outside for outside, inside in published_ports(container).items() if inside == port]
        if public:
            endpoints[node] = Endpoint(host, {ZOOKEEPER: public[0]})
        elif is_local(client):
            endpoints[node] = Endpoint("", {})
        else:
            raise UsageError(
                f"the ZooKeeper node {server} has to be reached from this host; publish port {port} of its container"
            )
    return ForeignEnsemble(found, ports, endpoints, f"/{root}" if root else "")
