"""A running cluster: its nodes, where clients reach them, and what Kafka reports about itself."""

from __future__ import annotations

import contextlib
import logging
import subprocess
from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Iterable, Mapping
from contextlib import AbstractContextManager
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Generic, Literal, TypeVar

from nemesis.cluster import Ahead
from pytest_kafkacheck.cluster.kafka import append_time, metadata_views, waiting, zookeeper
from pytest_kafkacheck.cluster.kafka.administration import Administration, Membership
from pytest_kafkacheck.cluster.kafka.former_values import FormerValues
from pytest_kafkacheck.cluster.kafka.quick_look import ControllerSession, QuickLook
from pytest_kafkacheck.cluster.nodes import health
from pytest_kafkacheck.cluster.nodes.health import end_network_faults, excerpt
from pytest_kafkacheck.cluster.nodes.node import ClusterNode
from pytest_kafkacheck.cluster.spec.member import (
    CONTROL_PLANE,
    CONTROLLER,
    INTERNAL,
    PORTS,
    ZOOKEEPER,
    Member,
)
from pytest_kafkacheck.cluster.spec.security import client_properties
from pytest_kafkacheck.cluster.spec.spec import ClusterSpec
from pytest_kafkacheck.errors import InfrastructureError, UsageError
from workloads.clients.connection import Address, Ensemble
from workloads.clients.requests import Leadership

if TYPE_CHECKING:
    from nemesis.event import Event
    from pytest_kafkacheck.cluster.nodes.own_faults import Beside, InjectedFault

log = logging.getLogger(__name__)

N = TypeVar("N", bound=ClusterNode)


class KafkaCluster(ABC, Generic[N]):
    """Implements ``nemesis.cluster.Cluster`` over the nodes of an engine."""

    def __init__(self, nodes: Mapping[int, N]) -> None:
        self.nodes = dict(nodes)
        self.require_faults: Callable[[Collection[str]], None] = lambda _: None
        """Raises CapabilityError for faults, by name, that this host cannot do."""
        self.fault_rows: Callable[[], Callable[[Mapping[str, Any]], None]] = lambda: lambda _: None
        """Called for each schedule of a test's own faults; returns a function that takes its rows."""
        self.start_process: Callable[..., subprocess.Popen[bytes]] = _no_test
        """Starts a program that ends with the test; see `pytest_kafkacheck.plugin.own_processes`."""

    @property
    @abstractmethod
    def run(self) -> str:
        """Unique name of the cluster."""

    @property
    @abstractmethod
    def spec(self) -> ClusterSpec: ...

    @property
    @abstractmethod
    def membership(self) -> Membership:
        """What adds and removes this cluster's brokers."""

    @property
    def former_values(self) -> FormerValues | None:
        """What a killed session would leave in Kafka; None where nothing of the cluster outlives its session."""
        return None

    def fault(self, event: Event) -> AbstractContextManager[InjectedFault]:
        """A fault around a block: injected and proved at its beginning, healed and proved at its end.

        event  such as ``isolate("leader:orders-0")``. Its target may be any topic, group or transactional id of the
               cluster. A momentary fault is carried out at the beginning. Without `lasting`, it lasts for the block,
               and an hour at most; with it, it may end before the block does.
        Raises UsageError for an event that makes no sense here, CapabilityError where the host cannot do it, and
        InfrastructureError when its effect or its end could not be proved.
        """
        from pytest_kafkacheck.cluster.nodes.own_faults import around

        return around(self, event)

    def refuse(self, events: Iterable[Event]) -> None:
        """Raises UsageError for an event that this cluster does not permit."""

    def wait_ready(self, *, logs: Path) -> None:
        """Return when every broker took and gave back a record. Saves the nodes' logs in a folder if that fails."""
        try:
            waiting.wait_ready(self)
        except BaseException as error:
            self.save_logs(logs)
            error.add_note(f"The nodes' logs are in {logs}")
            raise

    def wait_settled(self) -> None:
        """Return when every node serves, every ISR is full and all brokers agree.

        Raises InfrastructureError when that takes too long.
        """
        waiting.wait_settled(self)

    def nemesis(self, events: Iterable[Event], *, seed: int = 0) -> AbstractContextManager[Beside]:
        """A schedule beside a block, such as ``[kill("coordinator:billing", at=2, lasting=5)]``.

        Times begin with the block. At its end, what is at work is healed, and what has not begun is left out.
        seed  of random choices, such as that of the target ``one``.
        Raises as `fault` does. An injection without effect raises nothing: see `Beside.effective`.
        """
        from pytest_kafkacheck.cluster.nodes.own_faults import beside

        return beside(self, events, seed=seed)

    @property
    def registered_as(self) -> str:
        return self.run

    @property
    def brokers(self) -> dict[int, Address]:
        """Where clients on this host reach each broker."""
        return {node.id: node.client_address for node in self.nodes.values() if node.member.is_broker}

    @property
    def controllers(self) -> tuple[int, ...]:
        """Ids of the KRaft voters; none in ZooKeeper mode."""
        return tuple(node.id for node in self.nodes.values() if node.member.is_controller)

    @cached_property
    def kafka(self) -> Administration:
        """Requests to Kafka itself."""
        return Administration(self, self.membership, former=self.former_values)

    @property
    def zookeepers(self) -> dict[int, Address]:
        """Where this host reaches each ZooKeeper node."""
        return {
            node.id: node.address(ZOOKEEPER)
            for node in self.nodes.values()
            if node.member.role == "zookeeper"
        }

    @property
    def ensemble(self) -> Ensemble:
        """ZooKeeper as this host reaches it; without servers in KRaft mode."""
        return Ensemble(tuple(self.zookeepers.values()))

    @property
    def bootstrap(self) -> list[str]:
        """Addresses for the bootstrap.servers of the user's own clients."""
        return [str(address) for address in self.brokers.values()]

    def client_properties(self) -> str:
        """A properties file for Kafka's own tools and Java clients, with passwords and certificates."""
        security = next(iter(self.brokers.values())).security
        return f"bootstrap.servers={','.join(self.bootstrap)}\n" + client_properties(security)

    @property
    def planes(self) -> Mapping[str, frozenset[int]]:
        """TCP ports between nodes, by kind of traffic: ``replication`` and ``controller``."""
        found = {"replication": frozenset({PORTS[INTERNAL]})}
        if self.spec.kraft:
            found["controller"] = frozenset({PORTS[CONTROLLER]})
        elif self.spec.control_plane:
            found["controller"] = frozenset({PORTS[CONTROL_PLANE]})
        return found

    def leader(self, topic: str, partition: int) -> int | None:
        view = self._newest(topic, partition)
        return view.leader if view and view.leader >= 0 else None

    def replicas(self, topic: str, partition: int) -> tuple[int, ...]:
        view = self._newest(topic, partition)
        return view.replicas if view else ()

    def isr(self, topic: str, partition: int) -> tuple[int, ...]:
        view = self._newest(topic, partition)
        return view.isr if view else ()

    def controller(self) -> int | None:
        if not self.spec.kraft:
            with contextlib.suppress(OSError):
                return zookeeper.controller(self.ensemble)
            return None
        found = metadata_views.quorum(self.brokers)
        return found.leader if found else None

    def quick(self) -> QuickLook:
        if self.spec.kraft:
            brokers = self.brokers
            separate = [node for node in self.controllers if node not in brokers]
            return QuickLook(lambda: self.brokers, controllers=separate)
        return QuickLook(lambda: self.brokers, ControllerSession(lambda: self.ensemble))

    def coordinator(self, kind: Literal["group", "transaction"], name: str) -> int | None:
        return self.kafka.coordinator(kind, name)

    def ahead(self, node: int) -> Ahead:
        try:
            if node in self.brokers:
                return append_time.ahead(self.brokers, node)
        except OSError as error:
            log.warning("%s; its process is asked for its time instead", error)
        return self.require_node(node).ahead()

    def answers(self, node: int) -> bool:
        return health.answers(self.brokers[node])

    def serving(self, node: int) -> bool:
        return health.serves(self, node)

    def healthy(self) -> bool:
        """Whether every node runs and serves, and no fault has left anything; see `health.is_healthy`."""
        return health.is_healthy(self)

    def save_logs(self, directory: Path) -> None:
        """Write each node's log to ``<directory>/<host>.log``. Never raises."""
        health.save_logs(self, directory)

    def save_evidence(self, directory: Path) -> None:
        """Write the logs to ``logs``, and each broker's view of all partitions to ``topics.json``. Never raises."""
        health.save_logs(self, directory / "logs")
        health.save_topics(self, directory / "topics.json")

    def require_node(self, node: int) -> N:
        """The node with that id. Raises UsageError, which lists all, when there is none."""
        if node not in self.nodes:
            raise UsageError(
                f"the cluster has no node {node}; it has {', '.join(map(str, sorted(self.nodes)))}"
            )
        return self.nodes[node]

    def require_broker(self, node: int) -> N:
        """The broker with that node id. Raises UsageError, which lists all, when there is none."""
        if node not in self.brokers:
            raise UsageError(
                f"no broker is node {node}; brokers are {', '.join(map(str, sorted(self.brokers)))}"
            )
        return self.nodes[node]

    def end_agents(self) -> None:
        """End this session's agents, and return when they have healed: later they would undo another session's
        faults."""
        for node in self.nodes.values():
            if node.agent.end():
                try:
                    end_network_faults(node)
                except InfrastructureError as error:
                    log.warning("the agent of %s may not have ended: %s", node.member.host, error)

    def ended(self) -> str | None:
        """The last errors and lines of the first node that is not running, or None while all run."""
        for node in self.nodes.values():
            if node.ended():
                why = excerpt(node.logs())
                with contextlib.suppress(OSError):
                    return f"{node.member.host} exited with status {node.exit_code()}; {why}"
        return None

    def _newest(self, topic: str, partition: int) -> Leadership | None:
        return metadata_views.newest(metadata_views.views(self.brokers, [topic]), (topic, partition))

    def wait_startable(self, member: Member) -> None:
        """Wait until a broker that was killed can start again."""
        if member.is_broker and not self.spec.kraft:
            health.wait_session_expired(member.id, self.ensemble)


AnyCluster = KafkaCluster[Any]


def _no_test(*_: object, **__: object) -> subprocess.Popen[bytes]:
    raise UsageError("start_process: only in a test, with the cluster of the fixture kafkacheck_cluster")
