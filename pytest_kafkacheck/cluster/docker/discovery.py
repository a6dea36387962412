"""Finds the nodes of a cluster and their listeners in containers that the user runs.

Containers show which node they are (`kafka_containers`), and Kafka reports the rest: which brokers there are, where
clients reach them, who votes. The two have to agree in the cluster id and in every node id.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from typing import Any

from kafka.protocol.admin import DescribeClusterRequest

from pytest_kafkacheck.cluster.docker.containers import Container, names_of, published_ports
from pytest_kafkacheck.cluster.docker.engine import reach
from pytest_kafkacheck.cluster.docker.foreign_ensemble import ForeignEnsemble, find_ensemble
from pytest_kafkacheck.cluster.docker.given_containers import given_containers
from pytest_kafkacheck.cluster.docker.kafka_containers import (
    KafkaNode,
    kafka_nodes,
    label,
    labels,
    require_own_network,
    require_running,
    starting,
)
from pytest_kafkacheck.cluster.docker.listeners import (
    LOOPBACK,
    controller_ports,
    listeners_of,
    peer_ports,
    ports_of,
    require_peers,
    session_seconds,
)
from pytest_kafkacheck.cluster.kafka.waiting import wait_until
from pytest_kafkacheck.cluster.spec.member import EXTERNAL, Endpoint, NodeRole
from pytest_kafkacheck.errors import UsageError
from workloads.clients import requests
from workloads.clients.connection import Address, ask
from workloads.clients.security import Security

WRONG_NODE = 42
"""Error code of a broker that is asked for the settings of another one."""

TIMEOUT = 3.0
"""Seconds for each request."""


@dataclass(frozen=True)
class Discovered:
    """The nodes of a cluster and their containers.

    cluster_id            as Kafka reports it, and as the log directories of all nodes contain it.
    brokers, controllers  containers by node id, as the engine describes them; no node is in both.
    addresses             addresses of brokers at which this host reaches them.
    voters                node ids of the KRaft quorum.
    ports                 ports on which each node listens for its peers, by plane and node id.
    session_timeout       seconds after which a silent broker loses its leaderships.
    ensemble              ZooKeeper nodes; none in KRaft mode.
    """

    cluster_id: str
    brokers: Mapping[int, Container]
    controllers: Mapping[int, Container]
    addresses: Mapping[int, Address]
    voters: frozenset[int]
    ports: Mapping[str, Mapping[int, frozenset[int]]]
    session_timeout: float
    ensemble: ForeignEnsemble

    @property
    def containers(self) -> Mapping[int, Container]:
        return {**self.ensemble.containers, **self.controllers, **self.brokers}

    @property
    def planes(self) -> Mapping[str, frozenset[int]]:
        """Ports of all nodes by plane, see ``nemesis.cluster.Cluster.planes``. A plane is missing where one of its
        ports belongs to the other plane at another node: a cut of it would cut both."""
        joined = {plane: frozenset[int]().union(*each.values()) for plane, each in self.ports.items()}
        mixed = len(joined) == 2 and frozenset.intersection(*joined.values())
        return {} if mixed else {plane: each for plane, each in joined.items() if each}

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
        return min(self.ports["replication" if self.role(node) == "broker" else "controller"][node])


def discover(
    client: Any,
    what: str,
    *,
    limit: float,
    security: Security | None = None,
    addresses: Mapping[int, Address] | None = None,
) -> Discovered:
    """The nodes of a compose project (``compose:NAME``) or among containers (names or ids separated by commas).

    Within `limit` seconds all brokers must report the same brokers, and every container that runs Kafka must be one
    of the nodes: one that has just started may not know the others yet.

    security   of the brokers' listeners for this host.
    addresses  where this host reaches brokers, by node id, if they do not say it themselves.
    Raises UsageError when the containers are not a Kafka cluster that this host can reach, InfrastructureError when
    the time is up.
    """
    containers = given_containers(client, what)
    found: Discovered | None = None

    def problem() -> str | None:
        nonlocal found
        found = _Search(client, what, containers, security, addresses or {}).nodes()
        return None

    wait_until(problem, f"attach {what!r}: all nodes known", limit=limit, pause=0.5)
    assert found is not None
    return found


class _Search:
    """One look at containers and brokers. Raises UsageError for what time does not change, OSError for the rest."""

    def __init__(
        self,
        client: Any,
        what: str,
        containers: Sequence[Container],
        security: Security | None,
        given: Mapping[int, Address],
    ) -> None:
        self._client, self._what, self._security, self._given = client, what, security, given
        self._host, _ = reach(client)
        # A container that ended or was started meanwhile is to be seen as it is now.
        self._containers = [client.api.inspect_container(each["Id"]) for each in containers]
        self._kafka = kafka_nodes(client.api, self._containers)
        require_running(client.api, what, self._containers, self._kafka)
        if not self._kafka:
            text = (
                f"attach {what!r}: no container runs Kafka (a Java program with Kafka's main class): "
                f"{labels(self._containers)}"
            )
            raise OSError(text) if starting(self._containers, ()) else UsageError(text)
        require_own_network(what, [each.container for each in self._kafka])
        clusters = sorted({each.cluster for each in self._kafka if each.cluster})
        if len(clusters) > 1:
            of = {name: labels([n.container for n in self._kafka if n.cluster == name]) for name in clusters}
            raise UsageError(
                f"attach {what!r}: the containers are of {len(clusters)} clusters: "
                f"{'; '.join(f'{name}: {of[name]}' for name in clusters)}. Attach those of one cluster, by name"
            )
        self._cluster = clusters[0] if clusters else ""

    def nodes(self) -> Discovered:
        listed = self._listed_brokers()
        addresses = {node: self._address(node, at) for node, at in listed.items()}
        settings = {node: self._settings(node, addresses[node], at) for node, at in listed.items()}
        for node, address in addresses.items():
            if (known := set(_brokers(address)[1])) != set(listed):
                raise OSError(f"broker {node} knows brokers {sorted(known)}, another one {sorted(listed)}")
        dirs = {
            each for found in settings.values() for each in (found.get("log.dirs") or "").split(",") if each
        }
        if any(each.node is None for each in self._kafka):
            self._kafka = kafka_nodes(self._client.api, self._containers, dirs=dirs)
        by_node = self._by_node()
        if missing := sorted(set(listed) - set(by_node)):
            named = ", ".join(f"broker {node} at {listed[node]}" for node in missing)
            raise UsageError(
                f"attach {self._what!r}: the cluster has {named}, and none of the given containers runs it "
                f"({self._described()}); name its container as well"
            )
        brokers = {node: by_node[node].container for node in listed}
        # A user without the right to read a broker's settings gets none.
        settings = {node: {**by_node[node].settings, **found} for node, found in settings.items()}
        require_peers(self._what, brokers, settings)
        first = next(iter(listed))
        ensemble = ForeignEnsemble()
        voters: frozenset[int] = frozenset()
        ports = {"replication": {node: peer_ports(settings[node]) for node in brokers}}
        session = session_seconds(settings[first], "broker.session.timeout.ms")
        connect = settings[first].get("zookeeper.connect")
        if connect and not settings[first].get("process.roles"):
            ensemble = find_ensemble(self._client, self._containers, connect, taken=brokers)
            session = session_seconds(settings[first], "zookeeper.session.timeout.ms")
            if control := settings[first].get("control.plane.listener.name"):
                ports["controller"] = {node: ports_of(settings[node], control) for node in brokers}
        else:
            voters = self._voters(addresses, settings[first])
        if missing := sorted(voters - set(by_node)):
            raise UsageError(
                f"attach {self._what!r}: nodes {', '.join(map(str, missing))} vote in the quorum, and none of the "
                f"given containers runs them ({self._described()}); name their containers as well"
            )
        controllers = {node: by_node[node].container for node in sorted(voters - set(brokers))}
        if voters:
            ports["controller"] = {
                node: controller_ports(settings.get(node) or by_node[node].settings) for node in voters
            }
        self._require_complete({**brokers, **controllers})
        return Discovered(self._cluster, brokers, controllers, addresses, voters, ports, session, ensemble)

    def _by_node(self) -> dict[int, KafkaNode]:
        found: dict[int, KafkaNode] = {}
        for each in self._kafka:
            if each.node is None:
                raise OSError(
                    f"{label(each.container)} runs Kafka, and no meta.properties with a node id can be read in its "
                    f"log directory"
                )
            if each.node in found:
                raise UsageError(
                    f"attach {self._what!r}: {labels([found[each.node].container, each.container])} both have the "
                    f"log directory of node {each.node}; give each node a volume of its own"
                )
            found[each.node] = each
        return found

    def _described(self) -> str:
        return ", ".join(f"{label(each.container)} is node {each.node}" for each in self._kafka)

    def _require_complete(self, nodes: Mapping[int, Container]) -> None:
        """Raises OSError for containers that run Kafka, or may do so soon, and are no node of the cluster."""
        ids = {each["Id"] for each in nodes.values()}
        late = [each for each in self._kafka if each.container["Id"] not in ids]
        if late:
            named = ", ".join(f"node {each.node} in {label(each.container)}" for each in late)
            raise OSError(f"{named} runs Kafka and is no broker or voter of the cluster yet")
        if names := starting(self._containers, self._kafka):
            raise OSError(
                f"{', '.join(names)}: has a broker's image and does not run Kafka yet. If it does not belong to the "
                f"cluster, attach the others by name"
            )

    def _listed_brokers(self) -> dict[int, Address]:
        """The brokers that the first one reports that answers, where they advertise themselves."""
        tried: dict[str, str] = {}
        is_starting = has_answered = False
        for address in self._candidates():
            try:
                cluster, listed = _brokers(address)
            except OSError as error:
                tried[str(address)] = str(error)
                continue
            has_answered = True
            if self._cluster and cluster != self._cluster:
                tried[str(address)] = (
                    f"it is of cluster {cluster}, and these containers are of {self._cluster}"
                )
            elif not listed:
                tried[str(address)] = "it knows no broker yet"
                is_starting = True
            else:
                self._cluster = cluster
                return listed
        text = f"attach {self._what!r}: no broker answers this host over {self._security or 'PLAINTEXT'}"
        if tried:
            text += f". Tried: {'; '.join(f'{address}: {why}' for address, why in tried.items())}"
        text += f". {self._reachability()}"
        if self._security is None and tried and not has_answered:
            text += (
                ". If the brokers expect TLS or SASL, name a file with the clients' settings: "
                "--kafkacheck-attach-config FILE with pytest, --command-config FILE with kafkacheck"
            )
        raise OSError(text) if is_starting else UsageError(text)

    def _candidates(self) -> list[Address]:
        """Where brokers may answer: where they are said to be, at ports of their containers, where they advertise
        themselves, and at ports of other containers, such as a proxy's."""
        if self._given:
            return list(self._given.values())
        nodes = [each.container for each in self._kafka]
        names = {name for each in self._containers for name in names_of(each)}
        advertised = [
            (self._near(each.host), each.port)
            for node in self._kafka
            for each in listeners_of(node.advertised)
            if each.host and each.host not in names and "$" not in each.host
        ]
        rest = [each for each in self._containers if each["Id"] not in {node["Id"] for node in nodes}]
        ports = [
            [port for each in group for port in sorted(published_ports(each))] for group in (nodes, rest)
        ]
        places = [
            *((name, port) for name in _names_of_host(self._host, self._security) for port in ports[0]),
            *advertised,
            *((name, port) for name in _names_of_host(self._host, self._security) for port in ports[1]),
        ]
        published = {port for each in self._containers for port in published_ports(each)}
        # On this host, a port that no container publishes is that of another program.
        local = (self._host, *LOOPBACK)
        return [
            Address(host, port, self._security)
            for host, port in dict.fromkeys(places)
            if host not in local or port in published
        ]

    def _near(self, host: str) -> str:
        """A host that brokers advertise, as this host reaches it: the engine may be elsewhere."""
        is_checked = self._security is not None and self._security.tls
        return self._host if host in LOOPBACK and not (is_checked and self._host == "127.0.0.1") else host

    def _address(self, node: int, at: Address) -> Address:
        if self._given and node not in self._given:
            raise UsageError(
                f"attach {self._what!r}: the cluster has broker {node}, and the map has addresses of "
                f"{', '.join(map(str, sorted(self._given)))} only; add {node}=HOST:PORT"
            )
        return self._given.get(node) or Address(self._near(at.host), at.port, self._security)

    def _settings(self, node: int, address: Address, advertised: Address) -> dict[str, str]:
        """Of that broker, as it reports them itself, which proves that it is the one that answers."""
        try:
            if address[:2] != (self._near(advertised.host), advertised.port):
                # Clients follow what a broker advertises, wherever they find it first.
                _brokers(Address(self._near(advertised.host), advertised.port, self._security))
            code, settings = _describe(address, node)
        except OSError as error:
            raise UsageError(
                f"attach {self._what!r}: broker {node} advertises {advertised}, and this host does not reach it "
                f"there: {error}. {self._reachability()}"
            ) from error
        if code == WRONG_NODE:
            raise UsageError(
                f"attach {self._what!r}: another broker than {node} answers at {address}, where broker {node} "
                f"advertises itself; each broker needs an address of its own"
            )
        return settings

    def _reachability(self) -> str:
        """Where each node is published and what it advertises, and what to do."""
        lines = []
        for each in self._kafka:
            if "broker" not in each.roles:
                continue
            ports = published_ports(each.container)
            published = ", ".join(f"{outside}→{inside}" for outside, inside in sorted(ports.items()))
            lines.append(
                f"{label(each.container)} publishes {published or 'no port'} and advertises "
                f"{each.advertised or 'what its settings do not say'}"
            )
        lines += [
            f"{label(each)} exited with status {each['State']['ExitCode']}"
            for each in self._containers
            if not each["State"]["Running"] and each["State"]["ExitCode"]
        ]
        return (
            f"{'; '.join(lines)}. Each broker has to advertise an address that this host reaches, such as localhost "
            f"and the port that is published; where only an address behind a proxy or NAT does, name it with "
            f"--kafkacheck-attach-map NODE=HOST:PORT,... (--attach-map with kafkacheck)"
        )

    def _voters(self, addresses: Mapping[int, Address], settings: Mapping[str, str]) -> frozenset[int]:
        for address in addresses.values():
            with suppress(OSError):
                found = requests.quorum(partial(ask, address, timeout=TIMEOUT))
                if found is not None:
                    return frozenset(found.ends)
        # This user may not ask for the quorum, or the release has no such request.
        named = frozenset(
            int(each) for each in re.findall(r"(\d+)@", settings.get("controller.quorum.voters") or "")
        )
        stated = frozenset(
            each.node for each in self._kafka if each.node is not None and "controller" in each.roles
        )
        return named or stated


def _names_of_host(host: str, security: Security | None) -> list[str]:
    """Names under which the brokers' certificates may know this host: they are checked."""
    is_checked = security is not None and security.tls
    return [host, *(name for name in ("localhost",) if is_checked and host == "127.0.0.1")]


def _brokers(address: Address) -> tuple[str, dict[int, Address]]:
    """The cluster's id, and its brokers where they advertise themselves."""
    request = DescribeClusterRequest(version=0, include_cluster_authorized_operations=False)
    answer = ask(address, request, timeout=TIMEOUT)
    return str(answer.cluster_id), {each.broker_id: Address(each.host, each.port) for each in answer.brokers}


def _describe(address: Address, node: int) -> tuple[int, dict[str, str]]:
    """The error code of a request for the broker's settings, and those that have a value."""
    (answer,) = ask(address, requests.settings_request(requests.BROKER, [str(node)]), timeout=TIMEOUT).results
    return answer.error_code, {each.name: each.value for each in answer.configs if each.value is not None}
