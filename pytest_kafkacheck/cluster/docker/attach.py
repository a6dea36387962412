"""Attaches to a cluster that the user runs in containers of any image, so that the same faults work on it.

Network faults need nft in a node's network namespace, and the node's image may not have it. So a sidecar container
joins that namespace. After each start of the node it joins the new namespace and restores the rules that were in
force.

A guardian mends the cluster when its session is killed. Cuts end by themselves, because agents in the nodes' networks
notice the end of their session. Nothing in a container can thaw another one, start it, or set its clock right. So a
second process on this host waits for the end of the session: it reads its standard input, whose other end closes with
the session, however that ends. A session that ends properly reports it. What the guardian does then is in `mending`.
It is in a session of its own, so that neither Ctrl-C nor a kill of the session's process group ends it as well.
"""

from __future__ import annotations

import contextlib
import json
import logging
import os
import secrets
import shlex
import subprocess
import sys
import threading
from collections.abc import Iterable, Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from functools import partial
from pathlib import Path
from typing import IO, Any

from docker.errors import APIError

from nemesis.event import Event
from pytest_kafkacheck.cluster.docker import reaper
from pytest_kafkacheck.cluster.docker.attach_lease import leases
from pytest_kafkacheck.cluster.docker.cluster import DockerCluster
from pytest_kafkacheck.cluster.docker.containers import agent_in
from pytest_kafkacheck.cluster.docker.discovery import Discovered, discover
from pytest_kafkacheck.cluster.docker.engine import require_image
from pytest_kafkacheck.cluster.docker.images import agent_image
from pytest_kafkacheck.cluster.docker.lifecycle import DockerMembership
from pytest_kafkacheck.cluster.docker.node import DockerNode
from pytest_kafkacheck.cluster.docker.plan import HOLD, RIGHTS, Plan
from pytest_kafkacheck.cluster.docker.registers import TopicRegister
from pytest_kafkacheck.cluster.docker.repair import mend_leftovers, resume
from pytest_kafkacheck.cluster.kafka.dynamic import Snapshot, snapshot
from pytest_kafkacheck.cluster.kafka.replication import wait_replicating
from pytest_kafkacheck.cluster.kafka.waiting import wait_settled
from pytest_kafkacheck.cluster.spec.member import EXTERNAL, ZOOKEEPER, Member
from pytest_kafkacheck.cluster.spec.spec import ClusterSpec
from pytest_kafkacheck.errors import InfrastructureError, UsageError
from pytest_kafkacheck.termination import is_interrupted
from workloads.clients.connection import Address, Ensemble
from workloads.clients.security import Security

log = logging.getLogger(__name__)

LIST_RULES = """nft list tables inet | while read -r _ _ table; do
  case $table in kafkacheck*) nft list table inet "$table" ;; esac
done"""
"""Shell command that prints all rules that faults have made."""

LIMIT = 30.0
"""Seconds for each wait when a session begins or ends: for all nodes to be known, for replicas to be in sync."""


class AttachedNode(DockerNode):
    """A container of the user, with a sidecar of kafkacheck in its network namespace."""

    def __init__(self, client: Any, *, run: str, port: int, **options: Any) -> None:
        self._run = run
        self._following = threading.Lock()
        super().__init__(client, pod="", owner=reaper.labels(run), **options)
        self._name = str(self._api.inspect_container(self.container)["Name"]).lstrip("/")
        self.probe_port = port
        self.pod = self._new_sidecar()
        self.agent = agent_in(self._api, self.pod)

    def address(self, listener: str) -> Address:
        if listener == ZOOKEEPER and listener not in self.endpoint.ports:
            # Not published: the engine is on this host, which is in all networks of its containers.
            return Address(self.addresses[0], self.probe_port)
        return super().address(listener)

    def start(self) -> None:
        """Start the container, join its new network namespace, and restore the rules of the old one."""
        super().start()
        with self._following:
            self._rejoin()

    def shell(self, command: str, *, timeout: float = 10.0) -> tuple[int, str]:
        self._follow()
        return super().shell(command, timeout=timeout)

    def look(self, command: str, *, timeout: float = 10.0) -> tuple[int, str]:
        self._follow()
        return super().look(command, timeout=timeout)

    def _follow(self) -> None:
        """If the user restarted the container, the sidecar is still in the old namespace, which is not used any
        more."""
        with self._following:
            if self.state() != "stopped" and self.incarnation() != self._joined_to:
                self._rejoin()

    def _rejoin(self) -> None:
        # Only kafkacheck's tables: the engine creates its own again.
        status, rules = self.agent.shell(LIST_RULES, timeout=10)
        before, agent = self.pod, self.agent
        self.pod = self._new_sidecar()
        self.agent = agent_in(self._api, self.pod)
        if status == 0 and rules.strip():
            self.agent.shell(f"printf %s {shlex.quote(rules)} | nft -f -", timeout=10)
        agent.close()
        self._api.remove_container(before, force=True, v=True)

    @property
    def host(self) -> str:
        """The name of its container: its peers know it by that, whatever its owner calls its nodes."""
        return self._name

    @property
    def mac(self) -> str:
        return str(self._joined["MacAddress"])

    @property
    def addresses(self) -> tuple[str, ...]:
        found = (self._joined["IPAddress"], self._joined["GlobalIPv6Address"])
        return tuple(address for address in found if address)

    @property
    def _joined(self) -> dict[str, Any]:
        """The settings of its network; while it is stopped and has none, those it had last."""
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
                    network_mode=f"container:{self.container}", **RIGHTS
                ),
            )["Id"]
        )
        self._api.start(sidecar)
        self._joined_to = self.incarnation()
        _ = self._joined
        return sidecar


class AttachedCluster(DockerCluster):
    """`spec` contains the node roles that Kafka reported. Version, settings and image are not known.

    found  what attaching has found.
    """

    def __init__(
        self,
        client: Any,
        plan: Plan,
        nodes: Mapping[int, DockerNode],
        *,
        found: Discovered,
    ) -> None:
        super().__init__(client, plan, nodes, membership=DockerMembership)
        self._found = found

    @property
    def ensemble(self) -> Ensemble:
        return Ensemble(tuple(self.zookeepers.values()), self._found.ensemble.root)

    @property
    def registered_as(self) -> str:
        # Its run id is new in each session.
        return registered_as(self._found.cluster_id)

    @property
    def session_timeout(self) -> float:
        return self._found.session_timeout

    def refuse(self, events: Iterable[Event]) -> None:
        refuse_changes(events)

    @property
    def planes(self) -> Mapping[str, frozenset[int]]:
        return self._found.planes


def registered_as(cluster_id: str) -> str:
    """The name under which this host remembers topics of runs on an attached cluster."""
    return f"attached-{cluster_id}"


@contextmanager
def attached(
    client: Any,
    what: str,
    *,
    security: Security | None = None,
    addresses: Mapping[int, Address] | None = None,
    limit: float = LIMIT,
    session: int | None = None,
    mends: bool = False,
) -> Iterator[AttachedCluster]:
    """The cluster of a compose project (``compose:NAME``) or of containers (names or ids separated by commas).

    security  how clients on this host connect to the brokers; None for plain text.
    addresses  where this host reaches brokers, by node id; None: where they advertise themselves.
    limit     seconds for each wait, see `LIMIT`.
    session   process id of the session that has the cluster for itself; its workers share it. Default: this process.
    mends     this is a guardian that mends what a killed session left. Other sessions wait for it.

    While the block runs, each node has a sidecar. At the end all nodes are healed, thawed and started, and the
    sidecars are removed. Nothing that the user made is removed. Raises LeaseHeld when another session uses the
    cluster, UsageError when the containers are not a Kafka cluster that this host can reach, InfrastructureError when
    the cluster does not settle in time, when a replica does not follow its leader, or where there are queues for
    packets that kafkacheck did not make.
    """
    require_image(client, agent_image())
    run = f"attach-{secrets.token_hex(4)}"
    with ExitStack() as stack:
        stack.enter_context(reaper.removed_at_end(client, run))
        # The leases come before any request to a broker: brokers that another session has paused or cut off do not
        # answer.
        stack.enter_context(leases(client, what, owner=reaper.labels(run, pid=session), mends=mends))
        reaper.sweep(client)
        found = discover(client, what, limit=limit, security=security, addresses=addresses)
        ids = [str(each["Id"]) for each in found.containers.values()]
        guardian = (
            None if mends else stack.enter_context(guarded(what, ids, security=security, addresses=addresses))
        )
        spec = ClusterSpec(attached={node: found.role(node) for node in found.containers})
        plan = Plan(run=run, spec=spec, image="", owner=reaper.labels(run), cluster_id="")
        cluster = AttachedCluster(client, plan, {}, found=found)
        stack.callback(cluster.close)
        for node, container in sorted(found.containers.items()):
            member = Member(id=node, role=found.role(node))
            cluster.nodes[node] = AttachedNode(
                client,
                run=run,
                port=found.peer_port(node),
                member=member,
                endpoint=found.endpoint(node),
                container=container["Id"],
                security={EXTERNAL: security} if security else {},
                before_start=partial(cluster.wait_startable, member),
            )
        stack.callback(_restore, cluster, limit=limit)
        wait_settled(cluster, limit=limit)
        mend_leftovers(cluster)
        if not mends:
            register = TopicRegister(cluster.registered_as)
            wait_replicating(cluster.brokers, limit=limit, made=register.made, deleted=register.deleted)
        if guardian is not None:
            try:
                guardian.remember(snapshot(cluster.brokers))
            except OSError as error:
                log.warning("if this session is killed, what it changes in Kafka stays: %s", error)
        yield cluster


def _restore(cluster: AttachedCluster, *, limit: float) -> None:
    """Thaw and start all nodes, and wait until the cluster has settled, as it had when the session began.

    After an interrupt, replicas get in sync by themselves while the user goes on.
    """
    for node in cluster.nodes.values():
        with contextlib.suppress(APIError):
            resume(node)
    if is_interrupted():
        return
    try:
        wait_settled(cluster, limit=limit)
    except (InfrastructureError, APIError, OSError) as error:
        log.warning("the attached cluster has not settled again: %s", error)


def refuse_changes(events: Iterable[Event]) -> None:
    """Raises UsageError for the first event that changes containers, data or members.

    The engine has no record of the limits that a container had before, so the heal of `cpu` would leave none.
    """
    for event in events:
        if event.fault.changes_cluster:
            what = f"event {event.id!r}: {event.fault.name}" if event.id else event.fault.name
            raise UsageError(
                f"{what} changes settings, data or members of a cluster, which is not done to a cluster that "
                f"somebody else runs; leave it out, or use a cluster that kafkacheck starts (run without --attach)"
            )


DONE = "done"

PROGRAM = f"{__package__}.mending"

ROOT = Path(__file__).resolve().parents[3]


class Guardian:
    """What a session tells its guardian."""

    def __init__(
        self, pipe: IO[str], security: Security | None, addresses: Mapping[int, Address] | None
    ) -> None:
        self._pipe = pipe
        self._security = security
        self._addresses = addresses or {}

    def remember(self, before: Snapshot) -> None:
        """Let it restore this if the session is killed. Raises BrokenPipeError when it has ended."""
        # Everybody on this host can read the arguments of a process, so the password is not one of them.
        security = self._security.to_json() if self._security else None
        addresses = {str(node): list(at[:2]) for node, at in self._addresses.items()}
        line = {"before": before.to_json(), "security": security, "addresses": addresses}
        self._pipe.write(json.dumps(line) + "\n")
        self._pipe.flush()


@contextmanager
def guarded(
    what: str,
    containers: Iterable[str],
    *,
    security: Security | None = None,
    addresses: Mapping[int, Address] | None = None,
) -> Iterator[Guardian]:
    """While the block runs, a guardian watches over these containers. It ends with the block.

    what, security, addresses  the cluster, and how clients connect, as `attach.attached` takes them.
    """
    process = subprocess.Popen(
        [sys.executable, "-P", "-m", PROGRAM, what, json.dumps(list(containers))],
        stdin=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        text=True,
        start_new_session=True,
        env={**os.environ, "PYTHONPATH": os.pathsep.join([str(ROOT), os.environ.get("PYTHONPATH", "")])},
    )
    assert process.stdin is not None
    try:
        yield Guardian(process.stdin, security, addresses)
    finally:
        with suppress(BrokenPipeError):
            process.stdin.write(DONE)
            process.stdin.close()
        process.wait()
