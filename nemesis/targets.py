"""Whom a fault strikes: a small grammar, resolved when the fault is injected."""

from __future__ import annotations

import random
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from nemesis.cluster import Cluster
from nemesis.topology import Topology

Family = Literal["nodes", "partition", "topic", "cluster", "group", "producer", "clients"]

ALLOWED = (
    "node ids such as 2 or '1,2'; 'leader', 'follower', 'isr', 'out-of-sync' (of partition 0 of the workload's own "
    "topic; 'leader:<partition>' and 'leader:<topic>-<partition>' name another); 'controller', 'controllers', "
    "'coordinator:<group>', 'transaction-coordinator:<id>', 'one', 'random', 'minority', 'majority', 'all' (of the "
    "brokers); 'partition', 'topic', 'cluster', 'group:<group>', 'transaction:<id>' for faults of Kafka itself; "
    "'clients', 'producers', 'readers', 'sessions', 'producer', 'reader', 'session', 'client:<process>' for faults "
    "of clients"
)

_LOG = re.compile(r"(leader|follower|isr|out-of-sync|partition)(?::(?:([A-Za-z0-9._-]+)-)?([0-9]+))?")
_TOPIC = re.compile(r"topic(?::([A-Za-z0-9._-]+))?")
_NAMED = re.compile(r"(coordinator|transaction-coordinator|group|transaction):(\S+)")
_CLIENT = re.compile(r"client:([0-9]+)")
_NODES = re.compile(r"[0-9]+(,[0-9]+)*", re.ASCII)

_SETS = ("controller", "controllers", "one", "random", "minority", "majority", "all")
ROLES = {"producers": "producer", "readers": "reader", "sessions": "session"}
"""Names for all clients of a role."""

_FAMILIES: Mapping[str, Family] = {
    "partition": "partition",
    "topic": "topic",
    "cluster": "cluster",
    "group": "group",
    "transaction": "producer",
    "clients": "clients",
    "client": "clients",
    **dict.fromkeys((*ROLES, *ROLES.values()), "clients"),
}


class Unresolved(LookupError):
    """At this moment nothing is what the target asks for, such as a partition without a leader."""


@dataclass(frozen=True, kw_only=True)
class Target:
    """Made by `parse`.

    kind       the word before a colon; ``node`` for ids.
    nodes      the ids, for ``node``; for ``client`` the process.
    topic      None for the workload's own topic.
    partition  None where the text named none, which means 0.
    name       of a group or a transactional id.
    """

    kind: str
    nodes: tuple[int, ...] = ()
    topic: str | None = None
    partition: int | None = None
    name: str | None = None

    @classmethod
    def parse(cls, text: str | int) -> Target:
        """Raises ValueError naming the text and what is allowed."""
        if isinstance(text, int) and not isinstance(text, bool) and text >= 0:
            return cls(kind="node", nodes=(text,))
        if isinstance(text, str):
            if text in _SETS or text in ROLES or text in ROLES.values() or text in ("cluster", "clients"):
                return cls(kind=text)
            if _NODES.fullmatch(text):
                nodes = tuple(map(int, text.split(",")))
                if len(set(nodes)) == len(nodes):
                    return cls(kind="node", nodes=nodes)
            if match := _LOG.fullmatch(text):
                kind, topic, partition = match.groups()
                return cls(kind=kind, topic=topic, partition=None if partition is None else int(partition))
            if match := _TOPIC.fullmatch(text):
                return cls(kind="topic", topic=match[1])
            if match := _NAMED.fullmatch(text):
                return cls(kind=match[1], name=match[2])
            if match := _CLIENT.fullmatch(text):
                return cls(kind="client", nodes=(int(match[1]),))
        raise ValueError(f"target {text!r}: allowed are {ALLOWED}")

    @property
    def family(self) -> Family:
        return _FAMILIES.get(self.kind, "nodes")

    def log(self, own: str) -> tuple[str, int]:
        """Topic and partition it speaks of, where `own` is the workload's own topic."""
        return self.topic or own, self.partition or 0

    def __str__(self) -> str:
        match self.kind:
            case "node":
                return ",".join(map(str, self.nodes))
            case "client":
                return f"client:{self.nodes[0]}"
            case "topic":
                return f"topic:{self.topic}" if self.topic else "topic"
        if self.name is not None:
            return f"{self.kind}:{self.name}"
        if self.partition is None:
            return self.kind
        return f"{self.kind}:{f'{self.topic}-' if self.topic else ''}{self.partition}"

    def to_json(self) -> str:
        return str(self)

    def most(self, topology: Topology) -> int:
        """How many nodes it can be at most."""
        brokers = len(topology.brokers)
        match self.kind:
            case "node":
                return len(self.nodes)
            case "minority":
                return (brokers - 1) // 2
            case "majority":
                return brokers // 2 + 1
            case "random" | "all":
                return brokers
            case "controllers":
                return len(topology.controllers)
            case "isr":
                return topology.replicas
            case "out-of-sync":
                return max(topology.replicas - 1, 1)
        return 1 if self.family == "nodes" else 0


@dataclass(frozen=True)
class Groups:
    """Nodes split into groups by id. A node that is in no group keeps all its links."""

    groups: tuple[tuple[int, ...], ...]
    family: Family = "nodes"

    @classmethod
    def parse(cls, groups: Sequence[Sequence[int]]) -> Groups:
        """Raises ValueError for anything but two or more disjoint, non-empty groups of node ids."""
        wrong = f"groups {groups!r}: expected two or more disjoint groups of node ids, as [[1], [2, 3]]"
        try:
            parsed = tuple(tuple(group) for group in groups)
        except TypeError:
            raise ValueError(wrong) from None
        ids = [node for group in parsed for node in group]
        if (
            any(type(node) is not int or node < 0 for node in ids)
            or len(parsed) < 2
            or not all(parsed)
            or len(set(ids)) < len(ids)
        ):
            raise ValueError(wrong)
        return cls(parsed)

    @property
    def nodes(self) -> tuple[int, ...]:
        return tuple(node for group in self.groups for node in group)

    def __str__(self) -> str:
        return " | ".join(", ".join(map(str, group)) for group in self.groups)

    def to_json(self) -> list[list[int]]:
        return [list(group) for group in self.groups]

    def most(self, topology: Topology) -> int:  # noqa: ARG002 - as of Target
        """How many nodes are cut off at most: all but the largest group."""
        return len(self.nodes) - max(map(len, self.groups))


def parse(value: str | int | Sequence[Sequence[int]]) -> Target | Groups:
    """A target, or groups when it is a sequence of sequences. Raises ValueError."""
    return Target.parse(value) if isinstance(value, (str, int)) else Groups.parse(value)


def check(target: Target | Groups, topology: Topology) -> None:
    """Refuse a target that can never be resolved there. Raises ValueError naming the target and what there is."""
    what = f"target {str(target)!r}"
    if isinstance(target, Groups) or target.kind == "node":
        for node in target.nodes:
            if node not in topology.nodes:
                raise ValueError(
                    f"{what}: the cluster has no node {node}; allowed: {', '.join(map(str, topology.nodes))}"
                )
        return
    if target.kind in ("leader", "follower", "isr", "out-of-sync", "partition", "topic"):
        _check_log(target, topology, what)
    if target.kind in ("follower", "out-of-sync") and min(len(topology.brokers), topology.replicas) < 2:
        raise ValueError(f"{what}: a topic with one replica has no follower")
    if target.kind == "minority" and len(topology.brokers) < 3:
        raise ValueError(f"{what}: {len(topology.brokers)} brokers have no minority; at least 3 are needed")
    if target.kind == "controllers" and not topology.controllers:
        raise ValueError(
            f"{what}: in ZooKeeper mode one of the brokers is the controller; allowed: controller"
        )
    if target.family == "clients":
        _check_clients(target, topology, what)


def _check_log(target: Target, topology: Topology, what: str) -> None:
    topic = next(iter(topology.topics), None) if target.topic is None else target.topic
    if topic is None or topic not in topology.topics:
        there = ", ".join(topology.topics) or "none"
        raise ValueError(f"{what}: the workload has no topic {topic or 'at all'}; allowed: {there}")
    if (target.partition or 0) >= topology.topics[topic]:
        raise ValueError(
            f"{what}: {topic} has no partition {target.partition}; allowed: 0 to {topology.topics[topic] - 1}"
        )


def _check_clients(target: Target, topology: Topology, what: str) -> None:
    # The probe is our eye, not a client of the workload; its process comes last.
    total = sum(number for role, number in topology.clients.items() if role in ROLES.values())
    if target.kind == "client" and target.nodes[0] >= total:
        raise ValueError(f"{what}: the workload has no such process; allowed: 0 to {total - 1}")
    role = ROLES.get(target.kind, target.kind)
    if role in ROLES.values() and not topology.clients.get(role):
        there = ", ".join(name for name, number in topology.clients.items() if number)
        raise ValueError(f"{what}: the workload has no {role}; allowed: clients, or those of {there}")


def resolve(
    target: Target, cluster: Cluster, *, topic: str, rng: random.Random, clients: Mapping[int, str]
) -> tuple[int, ...]:
    """The ids of the nodes (of a client target: the processes) that are the target now.

    topic    the workload's own.
    rng      the event's own.
    clients  client processes that run, with their roles.
    Raises Unresolved when there are none. A follower is the first in-sync one in assignment order; a target that is
    no set of nodes gives none.
    """
    match target.kind:
        case "node":
            return target.nodes
        case "one" | "random" | "minority" | "majority" | "all":
            return _some(target.kind, sorted(cluster.brokers), rng)
        case "controllers":
            return tuple(sorted(cluster.controllers))
        case "controller":
            return (_known(cluster.controller(), "no active controller is known"),)
        case "coordinator" | "transaction-coordinator":
            kind: Literal["group", "transaction"] = "group" if target.kind == "coordinator" else "transaction"
            found = cluster.coordinator(kind, target.name or "")
            return (_known(found, f"nobody names a coordinator of {target.name}"),)
        case "leader" | "follower" | "isr" | "out-of-sync" | "partition":
            return _of_log(target, cluster, topic)
    if target.family == "clients":
        return _clients(target, rng, clients)
    return ()


def _some(kind: str, brokers: list[int], rng: random.Random) -> tuple[int, ...]:
    total = len(brokers)
    number = {"one": 1, "minority": (total - 1) // 2, "majority": total // 2 + 1, "all": total}.get(kind)
    return tuple(sorted(rng.sample(brokers, rng.randint(1, total) if number is None else number)))


def _of_log(target: Target, cluster: Cluster, own: str) -> tuple[int, ...]:
    topic, partition = target.log(own)
    replicas = cluster.replicas(topic, partition)
    if target.kind == "partition":
        return replicas
    in_sync = cluster.isr(topic, partition)
    if target.kind == "isr":
        return in_sync or _nothing(f"{topic}-{partition} has an empty ISR, or nobody tells it")
    if target.kind == "out-of-sync":
        behind = tuple(replica for replica in replicas if replica not in in_sync)
        return behind or _nothing(f"{topic}-{partition} has no replica out of sync: ISR {list(in_sync)}")
    leader = _known(cluster.leader(topic, partition), f"{topic}-{partition} has no leader")
    if target.kind == "leader":
        return (leader,)
    for replica in replicas:
        if replica != leader and replica in in_sync:
            return (replica,)
    return _nothing(f"{topic}-{partition} has no in-sync follower: leader {leader}, ISR {list(in_sync)}")


def _clients(target: Target, rng: random.Random, clients: Mapping[int, str]) -> tuple[int, ...]:
    # The probe is our eye, not a client of the workload.
    workers = {process: role for process, role in clients.items() if role in ROLES.values()}
    if target.kind == "client":
        found = [process for process in workers if process == target.nodes[0]]
    elif target.kind == "clients":
        found = list(workers)
    else:
        role = ROLES.get(target.kind, target.kind)
        found = sorted(process for process, each in workers.items() if each == role)
        if target.kind in ROLES.values() and found:
            found = [rng.choice(found)]
    return tuple(sorted(found)) or _nothing(f"no client process is {target}")


def _known(node: int | None, otherwise: str) -> int:
    if node is None:
        raise Unresolved(otherwise)
    return node


def _nothing(why: str) -> tuple[int, ...]:
    raise Unresolved(why)
