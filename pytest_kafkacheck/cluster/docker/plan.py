"""What a cluster consists of in the engine: names, labels, files, start commands, and the requests that make it.

A node is two containers. Prior art is the pause container of Kubernetes: a pod's containers join the network
namespace of a container that does nothing, so that they can be restarted without losing their address:

    pod      bash, sleeping; has the network, the published ports, NET_ADMIN, nft and tc; the agent runs here
    node     java; network_mode=container:<pod>, so it has no network settings of its own

- A broker can be killed, started, upgraded or replaced by a new container, and keeps its ports and addresses. Clients
  and peers see a restart of one broker, not a new broker. A container of its own could get another address at a
  restart, and other published ports when it is replaced.
- Faults survive restarts: rules live in the namespace, so a broker that restarts during a partition is still cut off.
- Kafka's image stays as it is. The tools for faults are in the pod's image, and only the pod has NET_ADMIN.

What is hard: the pod must run before its node, and after a restart of the engine as well (`repair` starts it). A node
that is attached to, and not started by kafkacheck, owns its network itself; there a sidecar joins the node's
namespace instead, and must join the new one after each start (`attach.AttachedNode`).
"""

from __future__ import annotations

import hashlib
import json
import socket
from collections.abc import Iterable, Mapping
from contextlib import ExitStack
from dataclasses import dataclass
from typing import Any

from docker.errors import NotFound

from pytest_kafkacheck.cluster.docker import loop_devices, reaper
from pytest_kafkacheck.cluster.docker.containers import archive
from pytest_kafkacheck.cluster.docker.images import agent_image
from pytest_kafkacheck.cluster.nodes.launch import START, Boot, Launch, launch
from pytest_kafkacheck.cluster.spec.member import CONTROLLER, Endpoint, Member
from pytest_kafkacheck.cluster.spec.properties import (
    DATA,
    listener_protocols,
    new_id,
    published,
)
from pytest_kafkacheck.cluster.spec.security import Identity, client_security, issue_identity
from pytest_kafkacheck.cluster.spec.spec import ClusterSpec
from workloads.clients.security import Security

MOST_ADDED = 20
"""Number of brokers that can be added to a cluster with TLS: its certificate names them in advance."""

MOST_RUN = 32
"""Most characters of a run's name in the names of its containers."""

PART = "kafkacheck.part"
"""Label: ``pod``, ``node``, or ``sidecar`` for a node's data."""

NODE, ROLE = "kafkacheck.node", "kafkacheck.role"
ENDPOINT = "kafkacheck.place"  # its first name, so that clusters kept by earlier releases can be reattached
SPEC, CLUSTER = "kafkacheck.spec", "kafkacheck.cluster-id"
"""Labels from which a session that did not start a cluster can reattach to it."""

IDENTITY = "/k/identity.json"
"""The file with the cluster's key and certificates in each node's container, for such a session. Labels are shown to
everybody who lists containers, so they have no key."""

FORMER_IDENTITY = "kafkacheck.identity"
"""The label that had the key in clusters kept by earlier releases."""

ENSEMBLE_SHARES = 8192
"""Weight of a ZooKeeper node for processor time, where that of a broker is 1024. It starts beside the brokers, and a
broker that does not find it tries again only after a second or more."""


@dataclass(frozen=True, kw_only=True)
class Plan:
    """All that determines the parts of one cluster.

    run         unique name, part of the names of all objects in the engine.
    image       image of brokers, controllers and ZooKeeper nodes.
    owner       labels that say who owns the cluster.
    cluster_id  KRaft's cluster id.
    host        address at which this host reaches published ports; `bind` is the engine's address for them.
    identity    key and certificate for TLS, the same for all nodes.
    boot        how nodes start, see start.sh.
    checkpoint  content of the file that formats a node's storage without a JVM.
    """

    run: str
    spec: ClusterSpec
    image: str
    owner: Mapping[str, str]
    cluster_id: str
    host: str = "127.0.0.1"
    bind: str = "127.0.0.1"
    identity: Identity | None = None
    boot: Boot = "fast"
    checkpoint: bytes | None = None

    @property
    def network(self) -> str:
        return f"kafkacheck-{_short(self.run)}"

    @property
    def securities(self) -> dict[str, Security]:
        """How clients authenticate and encrypt, by listener; listeners in plain text are missing."""
        ca = self.identity.ca if self.identity else None
        found = {
            name: client_security(
                protocol, self.spec.mechanism, ca=ca, controller=self.spec.kraft and name == CONTROLLER
            )
            for name, protocol in listener_protocols(self.spec).items()
        }
        return {name: security for name, security in found.items() if security is not None}

    def name(self, member: Member) -> str:
        return f"{self.network}-{member.host}"

    def volume(self, member: Member) -> str:
        return f"{self.name(member)}-data"

    def backing(self, member: Member) -> str | None:
        """Name of the volume with the file of the member's own disk; None if the member has no disk of its own."""
        own = self.spec.disk_mb is not None and member.role != "zookeeper"
        return f"{self.name(member)}-disk" if own else None

    def create_volumes(self, api: Any, members: Iterable[Member]) -> None:
        """Make the data volumes that are missing. Raises InfrastructureError where they are disks of their own."""
        disks = {}
        for member in members:
            backing = self.backing(member)
            if backing is None:
                api.create_volume(self.volume(member), labels=dict(self.owner))
            elif not _there(api, self.volume(member)):
                disks[self.volume(member)] = backing
        if disks:
            assert self.spec.disk_mb is not None
            loop_devices.make_disks(api, disks, mb=self.spec.disk_mb, owner=self.owner)

    def remove_volumes(self, api: Any, member: Member) -> None:
        """Remove the volumes with the member's data. Raises InfrastructureError."""
        backing = self.backing(member)
        if backing is not None:
            loop_devices.remove_disk(api, self.volume(member), backing, owner=self.owner)
        elif _there(api, self.volume(member)):
            api.remove_volume(self.volume(member), force=True)

    def create_network(self, api: Any) -> None:
        api.create_network(self.network, driver="bridge", labels=dict(self.owner))

    def create_pod(self, api: Any, member: Member, endpoint: Endpoint) -> str:
        """Create the member's pod, and do not start it. Returns the id of its container."""
        inside = published(self.spec, member)
        return create_pod(
            api,
            name=f"{self.name(member)}-pod",
            host=member.host,
            network=self.network,
            ports={inside[name]: (self.bind, port) for name, port in endpoint.ports.items()},
            labels={
                **self.owner,
                PART: "pod",
                NODE: str(member.id),
                ENDPOINT: json.dumps({"host": endpoint.host, "ports": dict(endpoint.ports)}),
            },
        )

    def create_container(self, api: Any, member: Member, endpoint: Endpoint, *, pod: str) -> str:
        """Create the container of the node's process, and its data volume if that is missing.

        Returns the container's id.
        """
        given = self.launch(member, endpoint)
        self.create_volumes(api, [member])
        container = str(
            api.create_container(
                image=self.image,
                name=self.name(member),
                entrypoint=["sh", "-c", START],
                user="0",  # images differ in their user, and the data must belong to the same one
                environment=dict(given.environment),
                labels={
                    **self.owner,
                    PART: "node",
                    NODE: str(member.id),
                    ROLE: json.dumps({"role": member.role, "rack": member.rack}),
                    SPEC: json.dumps(self.spec.to_json()),
                    CLUSTER: self.cluster_id,
                },
                host_config=api.create_host_config(
                    network_mode=f"container:{pod}",
                    log_config={"Type": "json-file"},
                    cpu_shares=ENSEMBLE_SHARES if member.role == "zookeeper" else None,
                    binds={self.volume(member): {"bind": DATA, "mode": "rw"}},
                ),
            )["Id"]
        )
        identity = {IDENTITY: json.dumps(self.identity.to_json()).encode()} if self.identity else {}
        api.put_archive(container, "/", archive({**given.files, **identity}))
        return container

    def launch(self, member: Member, endpoint: Endpoint) -> Launch:
        """The files and the environment with which the member starts."""
        return launch(
            self.spec,
            member,
            endpoint,
            cluster_id=self.cluster_id,
            identity=self.identity,
            boot=self.boot,
            checkpoint=self.checkpoint,
        )

    def endpoints(self, members: Iterable[Member]) -> dict[int, Endpoint]:
        """A free host port for every listener. Brokers advertise these ports, so they are chosen before the start."""
        wanted = [(member.id, name) for member in members for name in published(self.spec, member)]
        ports: dict[int, dict[str, int]] = {}
        with ExitStack() as stack:
            for node, name in wanted:
                each = stack.enter_context(socket.socket())
                each.bind(("", 0) if self.bind == "0.0.0.0" else (self.bind, 0))
                ports.setdefault(node, {})[name] = each.getsockname()[1]
        return {node: Endpoint(self.host, found) for node, found in ports.items()}


def _there(api: Any, volume: str) -> bool:
    try:
        api.inspect_volume(volume)
    except NotFound:
        return False
    return True


def _short(run: str) -> str:
    """A short form of the run's name, so that a container's name is a DNS label of at most 63 characters.

    The engine's name server returns the container's name for its address. The ZooKeeper client of Kafka 2.8 looks
    that up before it connects, and never connects if the name is longer.
    """
    if len(run) <= MOST_RUN:
        return run
    return f"{run[: MOST_RUN - 9]}-{hashlib.sha256(run.encode()).hexdigest()[:8]}"


def uses_tls(spec: ClusterSpec) -> bool:
    return any(protocol.endswith("SSL") for protocol in listener_protocols(spec).values())


def new_plan(
    spec: ClusterSpec,
    *,
    run: str,
    image: str,
    at: tuple[str, str] = ("127.0.0.1", "127.0.0.1"),
    boot: Boot = "fast",
    checkpoint: bytes | None = None,
    owner: Mapping[str, str] | None = None,
) -> Plan:
    """A plan for a new cluster. `at`: see ``engine.reach``. `owner`: labels; default: this process."""
    host, bind = at
    identity = None
    if uses_tls(spec):
        # The certificate must also name the brokers that are added later.
        later = [f"kafka{spec.brokers + number}" for number in range(1, MOST_ADDED + 1)]
        identity = issue_identity([host, *(member.host for member in spec.members), *later])
    return Plan(
        run=run,
        spec=spec,
        image=image,
        owner=owner or reaper.labels(run),
        cluster_id=new_id(),
        host=host,
        bind=bind,
        identity=identity,
        boot=boot,
        checkpoint=checkpoint,
    )


HOLD = 'trap "exit 0" TERM INT; while :; do sleep 3600 & wait $!; done'

RIGHTS: dict[str, Any] = {
    "cap_drop": ["ALL"],
    "cap_add": ["NET_ADMIN"],
    "security_opt": ["no-new-privileges"],
}
"""Of a pod, and of the sidecar of an attached node: it may change its own network namespace, and nothing else."""


def create_pod(
    api: Any,
    *,
    name: str,
    host: str,
    network: str,
    ports: Mapping[int, tuple[str, int]],
    labels: Mapping[str, str],
) -> str:
    """Create a pod, and do not start it. Returns its container's id.

    host     the name by which its peers resolve it, on the network with the id `network`.
    ports    port in its namespace to (address, port) on the engine's host.
    """
    return str(
        api.create_container(
            image=agent_image(),
            name=name,
            command=["bash", "-c", HOLD],
            hostname=host,
            labels=dict(labels),
            ports=list(ports),
            host_config=api.create_host_config(port_bindings=dict(ports), **RIGHTS),
            networking_config=api.create_networking_config(
                {network: api.create_endpoint_config(aliases=[host])}
            ),
        )["Id"]
    )
