"""Whom a fault strikes: a small grammar, resolved to node ids when the fault is injected."""

from __future__ import annotations

import random
import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

from nemesis.cluster import Cluster

ALLOWED = (
    "'leader', 'follower' (of partition 0 of the workload's own topic), 'leader:<partition>', "
    "'leader:<topic>-<partition>', the same for 'follower', 'controller', 'random', or a node id such as 2"
)

_ROLE = re.compile(r"(leader|follower)(?::(?:([A-Za-z0-9._-]+)-)?([0-9]+))?")


class Unresolved(LookupError):
    """At this moment no node is what the target asks for, such as a partition without a leader."""


@dataclass(frozen=True, kw_only=True)
class Target:
    """One node, by its role or its id. Made by `parse`.

    kind       ``leader``, ``follower``, ``controller``, ``random`` or ``node``.
    topic      None for the workload's own topic.
    partition  None where the text named none, which means 0.
    """

    kind: str
    node: int | None = None
    topic: str | None = None
    partition: int | None = None

    @classmethod
    def parse(cls, text: str | int) -> Target:
        """Raises ValueError naming the text and what is allowed."""
        if isinstance(text, int) and not isinstance(text, bool) and text >= 0:
            return cls(kind="node", node=text)
        if isinstance(text, str):
            if text in ("controller", "random"):
                return cls(kind=text)
            if text.isascii() and text.isdigit():
                return cls(kind="node", node=int(text))
            if match := _ROLE.fullmatch(text):
                kind, topic, partition = match.groups()
                return cls(kind=kind, topic=topic, partition=None if partition is None else int(partition))
        raise ValueError(f"target {text!r}: allowed are {ALLOWED}")

    def __str__(self) -> str:
        if self.kind == "node":
            return str(self.node)
        if self.partition is None:
            return self.kind
        return f"{self.kind}:{f'{self.topic}-' if self.topic else ''}{self.partition}"

    def to_json(self) -> str:
        return str(self)


@dataclass(frozen=True)
class Groups:
    """Nodes split into groups by id. A node that is in no group keeps all its links."""

    groups: tuple[tuple[int, ...], ...]

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


def parse(value: str | int | Sequence[Sequence[int]]) -> Target | Groups:
    """A target, or groups when it is a sequence of sequences. Raises ValueError."""
    return Target.parse(value) if isinstance(value, (str, int)) else Groups.parse(value)


def check(target: Target | Groups, *, nodes: Collection[int], topics: Mapping[str, int]) -> None:
    """Refuse a target that can never be resolved.

    nodes   ids of the cluster's nodes.
    topics  the workload's topics with their numbers of partitions; the first is the workload's own.
    Raises ValueError naming the target and what there is.
    """
    what = f"target {str(target)!r}"
    asked = target.nodes if isinstance(target, Groups) else (target.node,)
    for node in asked:
        if node is not None and node not in nodes:
            raise ValueError(
                f"{what}: the cluster has no node {node}; allowed: {', '.join(map(str, sorted(nodes)))}"
            )
    if isinstance(target, Groups) or target.kind not in ("leader", "follower"):
        return
    topic = next(iter(topics), None) if target.topic is None else target.topic
    if topic is None or topic not in topics:
        raise ValueError(
            f"{what}: the workload has no topic {topic or 'at all'}; allowed: {', '.join(topics) or 'none'}"
        )
    if (target.partition or 0) >= topics[topic]:
        raise ValueError(
            f"{what}: {topic} has no partition {target.partition}; allowed: 0 to {topics[topic] - 1}"
        )
    if target.kind == "follower" and len(nodes) < 2:
        raise ValueError(f"{what}: a cluster of one node has no follower")


def resolve(target: Target, cluster: Cluster, *, topic: str, rng: random.Random) -> int:
    """The id of the node that is the target now.

    topic  the workload's own.
    rng    the event's own, used by ``random`` alone.
    Raises Unresolved when no node is. A follower is the first in-sync one in assignment order.
    """
    if target.kind == "node":
        assert target.node is not None
        return target.node
    if target.kind == "random":
        return rng.choice(sorted(cluster.nodes))
    if target.kind == "controller":
        controller = cluster.controller()
        if controller is None:
            raise Unresolved("no active controller is known")
        return controller
    topic, partition = target.topic or topic, target.partition or 0
    leader = cluster.leader(topic, partition)
    if leader is None:
        raise Unresolved(f"{topic}-{partition} has no leader")
    if target.kind == "leader":
        return leader
    in_sync = cluster.isr(topic, partition)
    for replica in cluster.replicas(topic, partition):
        if replica != leader and replica in in_sync:
            return replica
    raise Unresolved(f"{topic}-{partition} has no in-sync follower: leader {leader}, ISR {list(in_sync)}")
