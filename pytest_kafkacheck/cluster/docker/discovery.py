"""Finds the nodes of a cluster and their listeners in containers that the user runs, by asking Kafka."""

from __future__ import annotations

import itertools
import re
from collections.abc import Collection, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from itertools import product
from typing import Any

from docker.errors import APIError
from kafka.protocol.admin import DescribeClusterRequest, DescribeConfigsRequest

from pytest_kafkacheck.cluster.docker import reaper
from pytest_kafkacheck.cluster.docker.containers import Container, container_named, published_ports
from pytest_kafkacheck.cluster.docker.engine import is_local, reach
from pytest_kafkacheck.cluster.docker.node import is_stopped_by_signal
from pytest_kafkacheck.cluster.kafka.waiting import wait_until
from pytest_kafkacheck.cluster.spec.member import (
    EXTERNAL,
    FIRST_ZOOKEEPER,
    PORTS,
    ZOOKEEPER,
    Endpoint,
    NodeRole,
)
from pytest_kafkacheck.errors import UsageError
from workloads.clients.connection import Address, ask
from workloads.clients.security import Security

PROJECT = "com.docker.compose.project"

BROKER = 4

TIMEOUT = 3.0
"""Seconds for each request."""

UNREGISTERED = "it knows no broker yet"


@dataclass(frozen=True)
class Discovered:
    """The nodes of a cluster and their containers.

    brokers, controllers  containers by node id, as the engine describes them; no node is in both.
    addresses             addresses of brokers at which this host reaches them.
    voters                node ids of the KRaft quorum.
    planes                ports on which nodes listen for each other, see ``nemesis.cluster.Cluster.planes``.
    ensemble              ZooKeeper nodes; none in KRaft mode.
    """

    brokers: Mapping[int, Mapping[str, Any]]
    controllers: Mapping[int, Mapping[str, Any]]
    addresses: Mapping[int, Address]
    voters: frozenset[int]
    planes: Mapping[str, frozenset[int]]
    ensemble: ForeignEnsemble

    @property
    def containers(self) -> Mapping[int, Mapping[str, Any]]:
        return {**self.ensemble.containers, **self.controllers, **self.brokers}

    def role(self, node: int) -> NodeRole:
        if node in self.ensemble.containers:
            return "zookeeper"
        if node not in self.brokers:
            return "controller"
        return "combined" if node in self.voters else "broker"

    def endpoint(self, node: int) -> Endpoint:
        """Where this host reaches the ports that the node publishes."""
        if node in self.addresses:
            at = self.addresses[node]
            return Endpoint(at.host, {EXTERNAL: at.port})
        return self.ensemble.endpoints.get(node, Endpoint("", {}))

    def peer_port(self, node: int) -> int:
        """A port on which the node listens for its peers."""
        if node in self.ensemble.ports:
            return self.ensemble.ports[node]
        return min(self.planes["replication" if self.role(node) == "broker" else "controller"])


def discover(client: Any, what: str, *, limit: float, security: Security | None = None) -> Discovered:
    """The nodes of a compose project (``compose:NAME``) or among containers (names or ids separated by commas).

    Within `limit` seconds all brokers must report the same brokers, and no other container may look like a broker:
    one that has just started may not know the others yet. `security` is that of the brokers' listeners for this host.
    Raises UsageError when the containers are not a Kafka cluster that this host can reach, InfrastructureError when
    the time is up.
    """
    containers = _containers(client, what)
    found: Discovered | None = None

    def problem() -> str | None:
        nonlocal found
        found = _find_nodes(client, containers, what, security)
        return _doubt(client, containers, found)

    wait_until(problem, f"attach {what!r}: all nodes known", limit=limit, pause=0.5)
    assert found is not None
    return found


def container_ids(client: Any, what: str) -> list[str]:
    """Ids of these containers, running or not, in order; without those that do not exist."""
    kind, colon, name = what.partition(":")
    if colon:
        found = client.api.containers(all=True, filters={"label": f"{PROJECT}={name}"})
        return sorted(str(each["Id"]) for each in found if kind == "compose")
    ids = set()
    for each in filter(None, (part.strip() for part in what.split(","))):
        with suppress(APIError):
            ids.add(str(client.api.inspect_container(each)["Id"]))
    return sorted(ids)


def names_containers(client: Any, what: str) -> bool:
    """Whether `what` names containers of the user, as `discover` takes them, and not a cluster of kafkacheck."""
    if what.startswith("compose:") or "," in what:
        return True
    ours = client.api.containers(all=True, filters={"label": f"{reaper.RUN}={what}"})
    return not ours and bool(container_ids(client, what))


def _containers(client: Any, what: str) -> Sequence[Mapping[str, Any]]:
    """The engine's description of each container. Raises UsageError for unknown ones."""
    api = client.api
    kind, colon, name = what.partition(":")
    if colon:
        if kind != "compose" or not name:
            raise UsageError(
                f"attach {what!r}: expected compose:PROJECT, or names of containers separated by commas"
            )
        found = api.containers(filters={"label": f"{PROJECT}={name}"})
        if not found:
            projects = sorted(
                {each["Labels"][PROJECT] for each in api.containers(filters={"label": PROJECT})}
            )
            raise UsageError(
                f"attach {what!r}: no running container belongs to that compose project; running projects: "
                f"{', '.join(projects) or 'none'}"
            )
        return _able_to_answer(api, what, [api.inspect_container(each["Id"]) for each in found])
    containers = []
    for each in filter(None, (part.strip() for part in what.split(","))):
        try:
            container = api.inspect_container(each)
        except APIError as error:
            raise UsageError(
                f"attach {what!r}: there is no container {each!r}; `docker ps` lists them"
            ) from error
        if not container["State"]["Running"]:
            raise UsageError(f"attach {what!r}: container {each!r} does not run; start it first")
        containers.append(container)
    if not containers:
        raise UsageError("attach: expected compose:PROJECT, or names of containers separated by commas")
    return _able_to_answer(api, what, containers)


def _able_to_answer(
    api: Any, what: str, containers: Sequence[Mapping[str, Any]]
) -> Sequence[Mapping[str, Any]]:
    """Raises UsageError for a container that stands still: its owner may have paused it, or a session that was
    killed."""
    for each in containers:
        name = each["Name"].lstrip("/")
        if each["State"]["Paused"]:
            raise UsageError(f"attach {what!r}: container {name} is paused; `docker unpause {name}` first")
        if is_stopped_by_signal(api, each["Id"]):
            raise UsageError(
                f"attach {what!r}: the processes of container {name} are stopped; `docker kill -s CONT {name}` first"
            )
    return containers


def _doubt(client: Any, containers: Sequence[Mapping[str, Any]], found: Discovered) -> str | None:
    for node, address in found.addresses.items():
        if (known := set(_brokers(address))) != set(found.brokers):
            return f"broker {node} knows brokers {sorted(known)}, another one {sorted(found.brokers)}"
    if late := _late(found):
        return (
            f"node {', '.join(map(str, late))} votes for the controller but is not a broker, while others are both. "
            f"Start it; or, if it is meant to be a controller only, set in its container's environment: "
            f"KAFKA_PROCESS_ROLES=controller"
        )
    if idle := _possible_brokers(client, containers, found):
        return (
            f"{', '.join(idle)}: has a broker's image and a published port, but is not a node of the cluster at "
            f"{next(iter(found.addresses.values()))}. If it does not belong to it, attach the others by name"
        )
    return None


def _late(found: Discovered) -> list[int]:
    """Voters that may be brokers which have not joined yet.

    That is so where other nodes are both, and these nodes' environment does not say that they are controllers only.
    """
    if not found.voters & set(found.brokers):
        return []
    return [node for node, container in sorted(found.controllers.items()) if not _only_controller(container)]


def _only_controller(container: Mapping[str, Any]) -> bool:
    """Whether the container's environment says so, in one of the forms that Kafka's images read."""
    return any(
        re.fullmatch(r"KAFKA_(CFG_)?PROCESS_ROLES=controller", each)
        for each in container["Config"]["Env"] or ()
    )


def _possible_brokers(client: Any, containers: Sequence[Mapping[str, Any]], found: Discovered) -> list[str]:
    """Names of the containers that may be brokers which have not joined yet."""
    nodes = found.containers.values()
    images, ids = {each["Image"] for each in nodes}, {each["Id"] for each in nodes}
    return [
        each["Name"].lstrip("/")
        for each in containers
        if each["Id"] not in ids
        and each["Image"] in images
        and published_ports(each)
        and client.api.inspect_container(each["Id"])["State"]["Running"]
    ]


def _find_nodes(
    client: Any, containers: Sequence[Mapping[str, Any]], what: str, security: Security | None
) -> Discovered:
    """Ask the first broker that answers on a published port for all brokers, and find their containers.

    Raises OSError while a broker is still starting, and UsageError when no broker can be reached.
    """
    host, _ = reach(client)
    published = {port: each for each in containers for port in published_ports(each)}
    tried: dict[str, str] = {}
    answered = False
    for name, port in product(_names_of_host(host, security), sorted(published)):
        address = Address(name, port, security)
        try:
            listed = _brokers(address)
        except OSError as error:
            tried[str(address)] = str(error)
            continue
        answered = True
        if not listed:
            # It answers before it has registered itself.
            tried[str(address)] = UNREGISTERED
            continue
        brokers, missing = {}, []
        for node, at in listed.items():
            if at.port in published and at.host in (host, "localhost", "127.0.0.1"):
                brokers[node] = published[at.port]
            else:
                missing.append(f"broker {node} at {at}")
        if missing:
            tried[str(address)] = (
                f"names {', '.join(missing)}, which is not a published port of these containers: each broker must "
                f"advertise an address that this host reaches"
            )
            continue
        return _with_others(
            client,
            containers,
            brokers,
            {node: Address(name, at.port, security) for node, at in listed.items()},
        )
    shown = "; ".join(f"{address}: {why}" for address, why in tried.items()) or "they publish no port"
    text = f"attach {what!r}: no Kafka cluster that this host reaches over {security or 'PLAINTEXT'}. Tried: {shown}"
    if security is None and not answered:
        text += (
            ". If the brokers expect TLS or SASL, name a file with the clients' settings: --kafkacheck-attach-config "
            "FILE with pytest, --command-config FILE with kafkacheck"
        )
    raise OSError(text) if UNREGISTERED in tried.values() else UsageError(text)


def _names_of_host(host: str, security: Security | None) -> list[str]:
    """Names under which the brokers' certificates may know this host: they are checked."""
    is_checked = security is not None and security.tls
    return [host, *(name for name in ("localhost",) if is_checked and host == "127.0.0.1")]


def _with_others(
    client: Any,
    containers: Sequence[Mapping[str, Any]],
    brokers: Mapping[int, Mapping[str, Any]],
    addresses: Mapping[int, Address],
) -> Discovered:
    """Add the controllers or the ZooKeeper nodes, and the ports between nodes, from the settings of one broker."""
    node = next(iter(addresses))
    settings = _settings(addresses[node], node)
    inner = settings.get("inter.broker.listener.name") or settings.get("security.inter.broker.protocol") or ""
    planes = {"replication": _ports(settings, inner) or frozenset({9092})}
    voters = re.findall(r"(\d+)@([^:,]+):(\d+)", settings.get("controller.quorum.voters") or "")
    controllers: dict[int, Mapping[str, Any]] = {}
    for text, name, _ in voters:
        if int(text) not in brokers:
            if (container := container_named(name, containers)) is None:
                raise UsageError(
                    f"controller {text} is at {name!r}, and none of the given containers has that name; "
                    f"name its container as well"
                )
            controllers[int(text)] = container
    if voters:
        planes["controller"] = frozenset(int(port) for _, _, port in voters)
    ensemble = ForeignEnsemble()
    if not voters and (connect := settings.get("zookeeper.connect")):
        ensemble = find_ensemble(client, containers, connect, taken=brokers)
        if control := settings.get("control.plane.listener.name"):
            planes["controller"] = _ports(settings, control)
    voting = frozenset(int(text) for text, _, _ in voters)
    return Discovered(brokers, controllers, addresses, voting, planes, ensemble)


def _ports(settings: Mapping[str, str | None], listener: str) -> frozenset[int]:
    """Ports of the listener of that name."""
    found = re.findall(rf"(?:^|,)\s*{re.escape(listener)}://[^,]*:(\d+)", settings.get("listeners") or "")
    return frozenset(map(int, found))


def _brokers(address: Address) -> dict[int, Address]:
    request = DescribeClusterRequest(version=0, include_cluster_authorized_operations=False)
    answer = ask(address, request, timeout=TIMEOUT)
    return {each.broker_id: Address(each.host, each.port) for each in answer.brokers}


def _settings(address: Address, node: int) -> dict[str, str | None]:
    resource = DescribeConfigsRequest.DescribeConfigsResource(
        resource_type=BROKER, resource_name=str(node), configuration_keys=None
    )
    request = DescribeConfigsRequest(version=1, resources=[resource], include_synonyms=False)
    return {each.name: each.value for each in ask(address, request, timeout=TIMEOUT).results[0].configs}


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
