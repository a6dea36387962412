"""Partition: groups of nodes that cannot reach each other. Clients reach all of them."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Literal, get_args

from nemesis.effects.nft import Cut
from nemesis.event import OPEN, Event, Split
from nemesis.fault import Draw, FaultContext
from nemesis.steps.cut_links import CutsLinks, between, groups_of
from nemesis.targets import Groups, Target
from nemesis.topology import Topology
from nemesis.validation import choice

Plane = Literal["replication", "controller"]
Way = Literal["in", "out"]
Shape = Literal["apart", "halves", "bridge", "majority-ring"]

LEAST_NODES: dict[Shape, int] = {"apart": 2, "halves": 2, "bridge": 3, "majority-ring": 4}


@dataclass(frozen=True, kw_only=True)
class Partition(CutsLinks):
    """Packets between groups of nodes are dropped, on all ports or on some TCP ports only.

    plane    cut only the ports of one protocol: ``replication`` or ``controller``.
    ports    cut only these ports of the nodes.
    one_way  "out": the others do not receive what the target sends; "in": it does not receive what they send. With
             groups, the first group is the target.
    shape    how the target's nodes are split. "apart" (default) cuts them off from all other nodes. "halves",
             "bridge" (two halves, and one node that reaches both) and "majority-ring" (each node reaches a majority,
             no two the same one) put the nodes in random order, and leave all other nodes alone.
    Raises ValueError for both plane and ports, and for an unknown plane, port, way or shape.
    """

    plane: Plane | None = None
    ports: Collection[int] | None = None
    one_way: Way | None = None
    shape: Shape = "apart"

    name = "partition"
    draw = Draw(
        weight=2,
        options=(
            {},
            {"one_way": "out"},
            {"one_way": "in"},
            {"plane": "replication"},
            {"plane": "controller"},
        ),
    )
    accepts_groups = True

    def __post_init__(self) -> None:
        choice("partition plane", self.plane, (None, *get_args(Plane)))
        choice("partition one_way", self.one_way, (None, *get_args(Way)))
        choice("partition shape", self.shape, get_args(Shape))
        if self.shape != "apart" and self.one_way is not None:
            raise ValueError(
                f"partition shape={self.shape!r}, one_way={self.one_way!r}: allowed is one of the two"
            )
        if self.ports is None:
            return
        if self.plane is not None:
            raise ValueError(
                f"partition plane={self.plane!r}, ports={self.ports!r}: allowed is one of the two"
            )
        wrong = ValueError(f"partition ports={self.ports!r}: expected one or more numbers from 1 to 65535")
        try:
            ports = frozenset(self.ports)
        except TypeError:
            raise wrong from None
        if not ports or any(type(port) is not int or not 1 <= port <= 65535 for port in ports):
            raise wrong
        object.__setattr__(self, "ports", ports)

    def check(self, topology: Topology, target: Target | Groups) -> None:
        super().check(topology, target)
        least, there = LEAST_NODES[self.shape], target.most(topology)
        if self.shape != "apart" and there < least:
            raise ValueError(f"{self.shape}: at least {least} nodes are needed, and there are {there}")
        if isinstance(target, Groups) and self.shape != "apart":
            raise ValueError(f"shape={self.shape!r} makes groups of its own; leave one of the two out")
        if self.plane == "controller" and topology.zookeepers:
            raise ValueError("plane='controller' exists only in KRaft; in ZooKeeper mode name the ports")

    def most_down(self, nodes: int) -> int:
        match self.shape:
            case "halves":
                return nodes // 2
            case "bridge":
                return (nodes - 1) // 2
            case "majority-ring":
                return 0  # each node reaches a majority
        return nodes

    def cuts(self, context: FaultContext) -> frozenset[Cut]:
        ports = None if self.ports is None else frozenset(self.ports)
        if self.plane is not None:
            ports = context.cluster.planes.get(self.plane)
            if ports is None:
                raise LookupError(
                    f"plane {self.plane!r}: the cluster has no ports for it alone; name the ports instead"
                )
        return frozenset(Cut(receiver, sender, ports) for receiver, sender in self._pairs(context))

    def _pairs(self, context: FaultContext) -> Iterable[tuple[int, int]]:
        """(receiver, sender) of the packets to drop."""
        if self.shape != "apart":
            in_random_order = context.random.sample(sorted(context.node_ids), len(context.node_ids))
            return SHAPES[self.shape](in_random_order)
        groups = groups_of(context)
        if self.one_way is None:
            return between(groups)
        first, others = groups[0], [node for group in groups[1:] for node in group]
        return product(others, first) if self.one_way == "out" else product(first, others)


def _halves(nodes: Sequence[int]) -> list[tuple[int, int]]:
    return between((nodes[: len(nodes) // 2], nodes[len(nodes) // 2 :]))


def _bridge(nodes: Sequence[int]) -> list[tuple[int, int]]:
    return _halves(nodes[1:])


def _majority_ring(nodes: Sequence[int]) -> list[tuple[int, int]]:
    """Each node reaches its nearest neighbours on a ring: as many as form a majority together with itself, or one
    more where both sides need the same number."""
    size, reach = len(nodes), (len(nodes) // 2 + 1) // 2
    return [
        (nodes[here], nodes[there])
        for here in range(size)
        for there in range(size)
        if here != there and min((here - there) % size, (there - here) % size) > reach
    ]


SHAPES: dict[str, Callable[[Sequence[int]], list[tuple[int, int]]]] = {
    "halves": _halves,
    "bridge": _bridge,
    "majority-ring": _majority_ring,
}


def partition(
    split: Split,
    *,
    lasting: float = OPEN,
    at: float = 0,
    after: str | None = None,
    plane: Plane | None = None,
    ports: Collection[int] | None = None,
    one_way: Way | None = None,
) -> Event:
    """Groups of nodes (``[[1], [2, 3]]``), or a target and all other nodes, cannot reach each other; clients reach
    all.

    split    groups of node ids (a node in no group keeps all its links); or a target, which is cut off from all
             others.
    plane    cut only the ports of one protocol: ``replication`` or ``controller``.
    ports    cut only these TCP ports of the nodes.
    one_way  "out": the others do not receive what the target sends; "in": it does not receive what they send.
    """
    return Event.of(
        Partition(plane=plane, ports=ports, one_way=one_way), split, at=at, after=after, lasting=lasting
    )


def halves(target: str = "all", *, lasting: float = OPEN, at: float = 0, after: str | None = None) -> Event:
    """Two random halves of the brokers cannot reach each other; needs 2 brokers."""
    return Event.of(Partition(shape="halves"), target, at=at, after=after, lasting=lasting)


def bridge(target: str = "all", *, lasting: float = OPEN, at: float = 0, after: str | None = None) -> Event:
    """Two random halves cannot reach each other, and one broker reaches both; needs 3 brokers."""
    return Event.of(Partition(shape="bridge"), target, at=at, after=after, lasting=lasting)


def majority_ring(
    target: str = "all", *, lasting: float = OPEN, at: float = 0, after: str | None = None
) -> Event:
    """Each broker reaches a majority, and no two brokers reach the same one; needs 4 brokers."""
    return Event.of(Partition(shape="majority-ring"), target, at=at, after=after, lasting=lasting)
