"""Targets of faults: a small grammar of roles, such as ``leader`` or ``coordinator:readers``.

A role is resolved to nodes when the fault is injected (`nemesis.resolution`).
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal

from nemesis.topology import APP, Aliases, Topology
from nemesis.validation import first_words, near_or_all

TargetFamily = Literal["nodes", "partition", "topic", "cluster", "group", "producer", "clients"]

TARGET_FAMILIES: Mapping[TargetFamily, str] = {
    "nodes": "nodes, such as 'leader'",
    "partition": "a partition, such as 'partition:0'",
    "topic": "a topic: 'topic', or 'topic:<name>'",
    "cluster": "the whole cluster: 'cluster'",
    "group": "a group, such as 'group:readers'",
    "producer": "a transactional id, such as 'transaction:transfer-1'",
    "clients": "client processes, such as 'producers'",
}
"""What a target of each family is, for messages."""

ALLOWED = (
    "node ids such as 2 or '1,2'; 'leader', 'follower', 'isr', 'out-of-sync' (of partition 0 of the workload's main "
    "topic; 'leader:<partition>' and 'leader:<topic>-<partition>' name another); 'controller', 'controllers', "
    "'coordinator:<group>', 'transaction-coordinator:<id>', 'one', 'random', 'minority', 'majority', 'all' (of the "
    "brokers); 'partition', 'topic', 'cluster', 'group:<group>', 'transaction:<id>' for faults of Kafka itself; "
    "'clients', 'producers', 'readers', 'sessions', 'producer', 'reader', 'session', 'roles:<role>', 'role:<role>', "
    "'member:<group>', 'client:<process>', 'app', 'app:<instance>' for faults of clients"
)

_LOG = re.compile(r"(leader|follower|isr|out-of-sync|partition)(?::(?:([A-Za-z0-9._-]+)-)?([0-9]+))?")
_TOPIC = re.compile(r"topic(?::([A-Za-z0-9._-]+))?")
_NAMED = re.compile(r"(coordinator|transaction-coordinator|group|transaction|roles?|member):(\S+)")
_CLIENT = re.compile(r"(client|app):([0-9]+)", re.ASCII)
_NODES = re.compile(r"[0-9]+(,[0-9]+)*", re.ASCII)

_SETS = ("controller", "controllers", "one", "random", "minority", "majority", "all")
PLURALS = {"producers": "producer", "readers": "reader", "sessions": "session"}
"""Short names for all client processes of a role of `AppendLog`; 'roles:<role>' is the form for any role."""

_KNOWN_TO_BROKERS = frozenset({"coordinator", "transaction-coordinator", "group", "transaction"})
"""Kinds of which the name is that of a group or of a transactional id."""

_FAMILIES: Mapping[str, TargetFamily] = {
    "partition": "partition",
    "topic": "topic",
    "cluster": "cluster",
    "group": "group",
    "transaction": "producer",
    "clients": "clients",
    "client": "clients",
    APP: "clients",
    "role": "clients",
    "roles": "clients",
    "member": "clients",
    **dict.fromkeys((*PLURALS, *PLURALS.values()), "clients"),
}

_WORDS = first_words(ALLOWED)
"""With which targets begin, for suggestions."""


@dataclass(frozen=True, kw_only=True)
class Target:
    """Made by `parse`.

    kind       the word before the colon; ``node`` for ids.
    nodes      ids, where the kind is ``node``; the number of the process, where it is ``client``; of the instance,
               where it is ``app`` (none: all instances).
    topic      None for the workload's main topic.
    partition  None where the text has none, which means 0.
    name       of a group, a transactional id or a role of clients.
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
            if (
                text in _SETS
                or text in PLURALS
                or text in PLURALS.values()
                or text
                in (
                    "cluster",
                    "clients",
                    APP,
                )
            ):
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
                return cls(kind=match[1], nodes=(int(match[2]),))
        raise ValueError(f"no target {text!r}{near_or_all(text, _WORDS, allowed=ALLOWED)}")

    @property
    def family(self) -> TargetFamily:
        return _FAMILIES.get(self.kind, "nodes")

    @property
    def role(self) -> str | None:
        """The role whose client processes are meant; None for a target of all clients, or of none."""
        if self.kind in ("role", "roles"):
            return self.name
        if self.kind == APP:
            return APP
        role = PLURALS.get(self.kind, self.kind)
        return role if role in PLURALS.values() else None

    @property
    def is_whole_role(self) -> bool:
        """Whether all client processes of the role are meant, and not one of them."""
        if self.kind == APP:
            return not self.nodes
        return self.kind == "roles" or self.kind in PLURALS

    def log(self, main_topic: str) -> tuple[str, int]:
        """Topic and partition. main_topic: of the workload, for a target that names no topic."""
        return self.topic or main_topic, self.partition or 0

    def __str__(self) -> str:
        match self.kind:
            case "node":
                return ",".join(map(str, self.nodes))
            case "client" | "app":
                return ":".join([self.kind, *map(str, self.nodes)])
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
        """The largest number of nodes that the target can resolve to."""
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
    """Groups of node ids. A node that is in no group keeps all its links."""

    groups: tuple[tuple[int, ...], ...]
    family: TargetFamily = "nodes"

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

    def most(self, topology: Topology) -> int:  # noqa: ARG002 - the same as for Target
        """The largest number of nodes that are cut off: all but those of the largest group."""
        return len(self.nodes) - max(map(len, self.groups))


def parse(value: str | int | Sequence[Sequence[int]]) -> Target | Groups:
    """A target from text or a node id, groups from a sequence of sequences. Raises ValueError."""
    return Target.parse(value) if isinstance(value, (str, int)) else Groups.parse(value)


def names_clients(value: object) -> bool:
    """Whether it is a target of client processes. False for what is no target at all, which others refuse."""
    try:
        return isinstance(value, str) and Target.parse(value).family == "clients"
    except ValueError:
        return False


def names_application(value: object) -> bool:
    """Whether it is a target of instances of a user's application by their own name, such as ``app:1``."""
    return names_clients(value) and Target.parse(str(value)).role == APP


def applications_only(topology: Topology, target: Target | Groups, instead: str) -> None:
    """Raises ValueError unless the target is instances of a user's application. instead: what to use for others."""
    role = target.role if isinstance(target, Target) else None
    if role not in topology.commands:
        raise ValueError(f"{target} is no application of yours; allowed: app, app:<instance>. {instead}")


def check(target: Target | Groups, topology: Topology) -> None:
    """Raises ValueError, naming the target and what is allowed, for a target that can never be resolved there."""
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


def brokers_only(topology: Topology, target: Target | Groups, why: str) -> None:
    """Raises ValueError where the target surely is a node that is no broker. why: the reason, as in "have no
    replicas".
    """
    if isinstance(target, Groups):
        return
    are_separate = bool(topology.controllers) and not set(topology.brokers) & set(topology.controllers)
    if target.kind in ("controller", "controllers") and are_separate:
        raise ValueError(f"the controllers {why}; brokers are {', '.join(map(str, topology.brokers))}")
    if target.kind == "node" and (others := set(target.nodes) - set(topology.brokers)):
        raise ValueError(
            f"{', '.join(map(str, sorted(others)))} {why}; brokers are {', '.join(map(str, topology.brokers))}"
        )


def _check_log(target: Target, topology: Topology, what: str) -> None:
    topic = next(iter(topology.topics), None) if target.topic is None else target.topic
    if topology.any_topic and topic not in topology.topics:
        if topic is None:
            example = "topic:orders" if target.kind == "topic" else f"{target.kind}:orders-0"
            raise ValueError(
                f"{what}: name a topic, such as {example!r}; a test's own code has no main topic"
            )
        return
    partitions = {**topology.topics, **topology.internal}
    if topic is None or topic not in partitions:
        allowed = ", ".join(partitions) or "none"
        raise ValueError(f"{what}: the workload has no topic {topic or 'at all'}; allowed: {allowed}")
    if (target.partition or 0) >= partitions[topic]:
        raise ValueError(
            f"{what}: {topic} has no partition {target.partition}; allowed: 0 to {partitions[topic] - 1}"
        )


def _check_clients(target: Target, topology: Topology, what: str) -> None:
    if target.kind == "member" and not topology.members.get(target.name or ""):
        allowed = ", ".join(f"member:{group}" for group, number in topology.members.items() if number)
        raise ValueError(
            f"{what}: the workload has no members of {target.name}; allowed: {allowed or 'none'}"
        )
    total = sum(topology.clients.values())
    if target.kind == "client" and target.nodes[0] >= total:
        raise ValueError(f"{what}: the workload has no such process; allowed: 0 to {total - 1}")
    if target.kind == APP and target.nodes and 0 < topology.clients.get(APP, 0) <= target.nodes[0]:
        raise ValueError(
            f"{what}: the application has {topology.clients[APP]} instances; allowed: app, or app:0 to "
            f"app:{topology.clients[APP] - 1}"
        )
    if (role := target.role) is not None and not topology.clients.get(role):
        present = ", ".join(name for name, number in topology.clients.items() if number)
        raise ValueError(f"{what}: the workload has no {role}; allowed: clients, or those of {present}")


def named(target: Target | Groups, aliases: Aliases) -> Target | Groups:
    """The target with the names by which brokers know its topic, group or transactional id."""
    if isinstance(target, Groups):
        return target
    name = aliases.name(target.name) if target.kind in _KNOWN_TO_BROKERS else target.name
    return replace(target, name=name, topic=aliases.topic(target.topic))
