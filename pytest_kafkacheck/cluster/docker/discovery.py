"""Who is a broker, who a controller, and where they listen, in containers that somebody else runs: asked of Kafka."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from docker.errors import APIError
from kafka.protocol.admin import DescribeClusterRequest, DescribeConfigsRequest

from pytest_kafkacheck.cluster.docker.engine import reach
from pytest_kafkacheck.cluster.kafka.waiting import wait_until
from pytest_kafkacheck.cluster.spec.member import NodeRole
from pytest_kafkacheck.errors import UsageError
from workloads.clients.connection import Address, ask

PROJECT = "com.docker.compose.project"
SERVICE = "com.docker.compose.service"
BROKER = 4
TIMEOUT = 3.0
"""Seconds for each question."""


@dataclass(frozen=True)
class Discovered:
    """brokers, controllers  containers by node id, as the engine describes them; no node is in both.
    addresses             of brokers, as this host reaches them.
    voters                node ids of the quorum.
    planes                ports on which nodes listen for each other, see ``nemesis.cluster.Cluster.planes``.
    """

    brokers: Mapping[int, Mapping[str, Any]]
    controllers: Mapping[int, Mapping[str, Any]]
    addresses: Mapping[int, Address]
    voters: frozenset[int]
    planes: Mapping[str, frozenset[int]]

    @property
    def containers(self) -> Mapping[int, Mapping[str, Any]]:
        return {**self.controllers, **self.brokers}

    def role(self, node: int) -> NodeRole:
        if node not in self.brokers:
            return "controller"
        return "combined" if node in self.voters else "broker"


def discover(client: Any, what: str, *, limit: float) -> Discovered:
    """The nodes of a compose project (``compose:NAME``) or among containers (names or ids, with commas between).

    All brokers must tell the same, and no other container look like one, within `limit` seconds: a broker that has
    just started may not know of the others, nor they of it. Raises UsageError when these are no Kafka cluster that
    this host reaches, InfrastructureError when time is up.
    """
    containers = _containers(client, what)
    found: Discovered | None = None

    def problem() -> str | None:
        nonlocal found
        found = _asked(client, containers, what)
        return _doubt(client, containers, found)

    wait_until(problem, f"attach {what!r}: it being clear who the nodes are", limit=limit, pause=0.5)
    assert found is not None
    return found


def _containers(client: Any, what: str) -> list[Mapping[str, Any]]:
    """What the engine tells of each. Raises UsageError for unknown ones."""
    api = client.api
    kind, colon, name = what.partition(":")
    if colon:
        if kind != "compose" or not name:
            raise UsageError(
                f"attach {what!r}: expected compose:PROJECT, or names of containers with commas between"
            )
        found = api.containers(filters={"label": f"{PROJECT}={name}"})
        if not found:
            projects = sorted(
                {each["Labels"][PROJECT] for each in api.containers(filters={"label": PROJECT})}
            )
            raise UsageError(
                f"attach {what!r}: no running container is of that compose project; running projects: "
                f"{', '.join(projects) or 'none'}"
            )
        return [api.inspect_container(each["Id"]) for each in found]
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
        raise UsageError("attach: expected compose:PROJECT, or names of containers with commas between")
    return containers


def _doubt(client: Any, containers: Sequence[Mapping[str, Any]], found: Discovered) -> str | None:
    for node, address in found.addresses.items():
        if (told := set(_brokers(address))) != set(found.brokers):
            return f"broker {node} knows of brokers {sorted(told)}, another of {sorted(found.brokers)}"
    if late := _late(found):
        return (
            f"node {', '.join(map(str, late))} votes for the controller and is no broker, while others are both. "
            f"Start it; or, if it shall be a controller only, say so in its container's environment: "
            f"KAFKA_PROCESS_ROLES=controller"
        )
    if idle := _would_be(client, containers, found):
        return (
            f"{', '.join(idle)}: of a broker's image, with a published port, and no node of the cluster that "
            f"{next(iter(found.addresses.values()))} belongs to. If it is none of it, attach the others by name"
        )
    return None


def _late(found: Discovered) -> list[int]:
    """Voters that may be brokers which have not joined yet: others are both, and nothing says otherwise of these."""
    if not found.voters & set(found.brokers):
        return []
    return [node for node, container in sorted(found.controllers.items()) if not _only_controller(container)]


def _only_controller(container: Mapping[str, Any]) -> bool:
    """Whether the environment says so, as images take it."""
    return any(
        re.fullmatch(r"KAFKA_(CFG_)?PROCESS_ROLES=controller", each)
        for each in container["Config"]["Env"] or ()
    )


def _would_be(client: Any, containers: Sequence[Mapping[str, Any]], found: Discovered) -> list[str]:
    """Names of the containers that may be brokers which have not joined yet."""
    nodes = found.containers.values()
    images, ids = {each["Image"] for each in nodes}, {each["Id"] for each in nodes}
    return [
        each["Name"].lstrip("/")
        for each in containers
        if each["Id"] not in ids
        and each["Image"] in images
        and _published(each)
        and client.api.inspect_container(each["Id"])["State"]["Running"]
    ]


def _asked(client: Any, containers: Sequence[Mapping[str, Any]], what: str) -> Discovered:
    """Ask whoever answers on a published port who the brokers are, and find each among the containers."""
    host, _ = reach(client)
    published = {port: each for each in containers for port in _published(each)}
    tried: dict[str, str] = {}
    for port in sorted(published):
        address = Address(host, port)
        try:
            told = _brokers(address)
        except OSError as error:
            tried[str(address)] = str(error)
            continue
        brokers, missing = {}, []
        for node, at in told.items():
            if at.port in published and at.host in (host, "localhost", "127.0.0.1"):
                brokers[node] = published[at.port]
            else:
                missing.append(f"broker {node} at {at}")
        if missing:
            tried[str(address)] = (
                f"names {', '.join(missing)}, which is no published port of these containers: each broker must "
                f"advertise an address that this host reaches"
            )
            continue
        return _with_controllers(
            containers, brokers, {node: Address(host, at.port) for node, at in told.items()}
        )
    shown = "; ".join(f"{address}: {why}" for address, why in tried.items()) or "they publish no port"
    raise UsageError(f"attach {what!r}: no Kafka cluster that this host reaches. Tried: {shown}")


def _with_controllers(
    containers: Sequence[Mapping[str, Any]],
    brokers: Mapping[int, Mapping[str, Any]],
    addresses: Mapping[int, Address],
) -> Discovered:
    node = next(iter(addresses))
    settings = _settings(addresses[node], node)
    inner = settings.get("inter.broker.listener.name") or settings.get("security.inter.broker.protocol") or ""
    ports = re.findall(rf"(?:^|,)\s*{re.escape(inner)}://[^,]*:(\d+)", settings.get("listeners") or "")
    planes = {"replication": frozenset(map(int, ports)) or frozenset({9092})}
    voters = re.findall(r"(\d+)@([^:,]+):(\d+)", settings.get("controller.quorum.voters") or "")
    controllers: dict[int, Mapping[str, Any]] = {}
    for text, name, _ in voters:
        if int(text) not in brokers:
            match = [each for each in containers if name in _names(each)]
            if not match:
                raise UsageError(
                    f"controller {text} is at {name!r}, and no container given has that name; name it, too"
                )
            controllers[int(text)] = match[0]
    if voters:
        planes["controller"] = frozenset(int(port) for _, _, port in voters)
    return Discovered(brokers, controllers, addresses, frozenset(int(text) for text, _, _ in voters), planes)


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


def _published(container: Mapping[str, Any]) -> list[int]:
    bindings = container["NetworkSettings"]["Ports"] or {}
    return [
        int(each["HostPort"])
        for name, each_port in bindings.items()
        if name.endswith("/tcp")
        for each in each_port or ()
    ]


def _names(container: Mapping[str, Any]) -> set[str]:
    """Everything by which its peers may know it."""
    networks = container["NetworkSettings"]["Networks"].values()
    aliases = {alias for network in networks for alias in network.get("Aliases") or ()}
    labels = container["Config"]["Labels"] or {}
    return {
        container["Name"].lstrip("/"),
        container["Config"]["Hostname"],
        labels.get(SERVICE, ""),
        *aliases,
    } - {""}
