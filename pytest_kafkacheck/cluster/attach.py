"""A cluster that somebody else runs in containers, of any image, as a Cluster with the same faults.

Who is a broker, a controller, and where they listen, is asked of Kafka. Faults of the network need nft in a node's
network namespace, which its image need not have: a sidecar of ours joins the namespace, and joins the new one after
each start, taking along the cuts that were in force.
"""

from __future__ import annotations

import contextlib
import logging
import re
import secrets
import shlex
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from typing import Any

from docker.errors import APIError
from kafka.protocol.admin import DescribeClusterRequest, DescribeConfigsRequest
from tenacity import (
    RetryError,
    Retrying,
    retry_if_exception_type,
    retry_if_result,
    stop_after_delay,
    wait_fixed,
)

from nemesis.nft import TABLE
from pytest_kafkacheck.cluster import lifecycle, reaper
from pytest_kafkacheck.cluster.agent import Agent
from pytest_kafkacheck.cluster.cluster import DockerCluster
from pytest_kafkacheck.cluster.engine import reach, require_image
from pytest_kafkacheck.cluster.member import CONTROLLER, EXTERNAL, INTERNAL, Member, Place
from pytest_kafkacheck.cluster.node import DockerNode
from pytest_kafkacheck.cluster.plan import Plan
from pytest_kafkacheck.cluster.pod import HOLD
from pytest_kafkacheck.cluster.spec import ClusterSpec
from pytest_kafkacheck.errors import InfrastructureError, UsageError
from pytest_kafkacheck.setup.image import agent_image
from workloads.clients.raw import Address, ask

log = logging.getLogger(__name__)

PROJECT = "com.docker.compose.project"
SERVICE = "com.docker.compose.service"
BROKER = 4
TIMEOUT = 3.0
"""Seconds for each question."""

LIMIT = 30.0
"""Seconds for a cluster to be whole when a session begins or ends."""


class AttachedNode(DockerNode):
    """A container that is not ours, with a sidecar of ours in its network namespace."""

    def __init__(self, client: Any, *, run: str, port: int, **options: Any) -> None:
        self._client = client
        self._run = run
        super().__init__(client, pod="", **options)
        self.probe_port = port
        self.pod = self._new_sidecar()
        self.agent = Agent(client, pod=self.pod)

    def start(self) -> None:
        """Start the container, and join its new namespace with the rules that were in force in the old one."""
        super().start()
        self._rejoin()

    def shell(self, command: str, *, timeout: float = 10.0) -> tuple[int, str]:
        if self.state() != "stopped" and self.incarnation() != self._joined_to:
            # Somebody else restarted the container: the sidecar sits in a namespace that nobody uses.
            self._rejoin()
        return super().shell(command, timeout=timeout)

    def _rejoin(self) -> None:
        # Our table only: the engine has some of its own there, and makes them anew.
        status, rules = self.agent.shell(f"nft list table {TABLE}", timeout=10)
        before, agent = self.pod, self.agent
        self.pod = self._new_sidecar()
        self.agent = Agent(self._client, pod=self.pod)
        if status == 0 and rules.strip():
            self.agent.shell(f"printf %s {shlex.quote(rules)} | nft -f -", timeout=10)
        agent.close()
        self._api.remove_container(before, force=True, v=True)

    @property
    def mac(self) -> str:
        return str(self._joined["MacAddress"])

    @property
    def addresses(self) -> tuple[str, ...]:
        found = (self._joined["IPAddress"], self._joined["GlobalIPv6Address"])
        return tuple(address for address in found if address)

    @property
    def _joined(self) -> dict[str, Any]:
        """The network it has now; the last one while it is stopped, for then it has none."""
        networks = self._api.inspect_container(self.container)["NetworkSettings"]["Networks"]
        (settings,) = networks.values()
        if settings["MacAddress"]:
            self._last: dict[str, Any] = dict(settings)
        return self._last

    def _new_sidecar(self) -> str:
        sidecar = str(
            self._api.create_container(
                image=agent_image(),
                name=f"kafkacheck-{self._run}-{self.member.id}-{secrets.token_hex(3)}",
                command=["bash", "-c", HOLD],
                labels=reaper.labels(self._run),
                host_config=self._api.create_host_config(
                    network_mode=f"container:{self.container}", cap_add=["NET_ADMIN"]
                ),
            )["Id"]
        )
        self._api.start(sidecar)
        self._joined_to = self.incarnation()
        _ = self._joined
        return sidecar


class AttachedCluster(DockerCluster):
    """`spec` says what Kafka told of its shape; version, settings and image are not known."""

    def __init__(
        self, client: Any, plan: Plan, nodes: Mapping[int, DockerNode], *, ports: Mapping[str, frozenset[int]]
    ) -> None:
        super().__init__(client, plan, nodes)
        self._ports = ports

    @property
    def planes(self) -> Mapping[str, frozenset[int]]:
        return self._ports


@contextmanager
def attached(client: Any, what: str) -> Iterator[AttachedCluster]:
    """The cluster of a compose project (``compose:NAME``) or of containers (names or ids, with commas between).

    While the block runs, sidecars are beside its nodes; afterwards everything is healed, thawed and started, and they
    are gone. Nothing of the user's is removed. Raises UsageError when these are no Kafka cluster that this host
    reaches, InfrastructureError when it is not whole in time.
    """
    require_image(client, agent_image())
    reaper.sweep(client)
    containers = _containers(client, what)
    found = _agreed(client, containers, what)
    run = f"attach-{secrets.token_hex(4)}"
    with ExitStack() as stack:
        stack.enter_context(reaper.removed_at_end(client, run))
        spec = ClusterSpec(brokers=len(found.brokers), controllers=_allowed(len(found.controllers)))
        plan = Plan(run=run, spec=spec, image="", owner=reaper.labels(run), cluster_id="")
        cluster = AttachedCluster(client, plan, {}, ports=found.planes)
        stack.callback(cluster.close)
        for node, container in sorted({**found.controllers, **found.brokers}.items()):
            role = (
                "controller"
                if node not in found.brokers
                else "combined"
                if node in found.voters
                else "broker"
            )
            at = found.addresses.get(node)
            place = Place(at.host, {EXTERNAL: at.port}) if at else Place("", {})
            plane = CONTROLLER if node in found.voters else INTERNAL
            cluster.nodes[node] = AttachedNode(
                client,
                run=run,
                port=min(found.planes["controller" if plane == CONTROLLER else "replication"]),
                member=Member(id=node, role=role),  # type: ignore[arg-type]
                place=place,
                container=container["Id"],
            )
        stack.callback(_restored, cluster)
        lifecycle.wait_settled(cluster, limit=LIMIT)
        yield cluster


def _restored(cluster: AttachedCluster) -> None:
    """Thaw and start whatever the session left otherwise, and wait until the cluster is whole, as it was found."""
    for node in cluster.nodes.values():
        with contextlib.suppress(APIError):
            node.thaw()
            if node.state() == "paused":
                node.signal("CONT")
            if node.state() == "stopped":
                node.start()
    try:
        lifecycle.wait_settled(cluster, limit=LIMIT)
    except (InfrastructureError, APIError, OSError) as error:
        log.warning("the attached cluster is not whole again: %s", error)


@dataclass(frozen=True)
class _Found:
    """Containers by node id; addresses of brokers as clients reach them; ids of voters; ports by plane."""

    brokers: Mapping[int, Mapping[str, Any]]
    controllers: Mapping[int, Mapping[str, Any]]
    addresses: Mapping[int, Address]
    voters: frozenset[int]
    planes: Mapping[str, frozenset[int]]


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


def _agreed(client: Any, containers: Sequence[Mapping[str, Any]], what: str) -> _Found:
    """What all brokers say alike, and no other container looks like one: a broker that has just started may not know
    of the others, nor they of it."""

    def once() -> _Found | str:
        found = _asked(client, containers, what)
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
        return found

    try:
        found = Retrying(
            stop=stop_after_delay(LIMIT),
            wait=wait_fixed(0.5),
            retry=retry_if_exception_type(OSError) | retry_if_result(lambda found: isinstance(found, str)),
        )(once)
    except RetryError as error:
        why = error.last_attempt.exception() or error.last_attempt.result()
        raise InfrastructureError(
            f"attach {what!r}: after {LIMIT:.0f} s it is still not clear who the nodes are: {why}"
        ) from error
    assert isinstance(found, _Found)
    return found


def _late(found: _Found) -> list[int]:
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


def _would_be(client: Any, containers: Sequence[Mapping[str, Any]], found: _Found) -> list[str]:
    """Names of the containers that may be brokers which have not joined yet."""
    nodes = [*found.brokers.values(), *found.controllers.values()]
    images, ids = {each["Image"] for each in nodes}, {each["Id"] for each in nodes}
    return [
        each["Name"].lstrip("/")
        for each in containers
        if each["Id"] not in ids
        and each["Image"] in images
        and _published(each)
        and client.api.inspect_container(each["Id"])["State"]["Running"]
    ]


def _asked(client: Any, containers: Sequence[Mapping[str, Any]], what: str) -> _Found:
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
) -> _Found:
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
    return _Found(brokers, controllers, addresses, frozenset(int(text) for text, _, _ in voters), planes)


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


def _allowed(controllers: int) -> int:
    """A number of separate controllers that a spec may have; what it stands for is only whether there are any."""
    return controllers if controllers in (0, 1, 3, 5) else 3
