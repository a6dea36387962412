"""Partition: nodes that cannot hear each other. Clients reach all of them."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass
from itertools import permutations, product
from typing import ClassVar, Literal, get_args

from nemesis.effects.network import NetworkError
from nemesis.effects.nft import Cut, Rule
from nemesis.effects.probe import Answer, Link, probe
from nemesis.faults.fault import Fault, FaultContext, Proof
from nemesis.targets import Groups, Target
from nemesis.topology import Topology
from nemesis.validation import choice

Plane = Literal["replication", "controller"]
Way = Literal["in", "out"]
Shape = Literal["apart", "halves", "bridge", "majority-ring"]

INJECT_LIMIT = 3.0
HEAL_LIMIT = 10.0
"""Seconds in which a probe must show the cut, and its end."""


@dataclass(frozen=True, kw_only=True)
class Partition(Fault):
    """Cut on all ports, or on some TCP ports only.

    plane    only what is spoken there: ``replication`` or ``controller``.
    ports    only these ports of the nodes.
    one_way  "out": the others do not hear the target; "in": it does not hear them. With groups: those after the
             first one do not hear it, or it does not hear them.
    shape    how the target's nodes are split: "apart" (default) cuts them off from all others; "halves", "bridge"
             (two halves that one node hears both of) and "majority-ring" (each hears a majority, no two the same
             one) put them in an order by chance, and leave other nodes alone.
    Raises ValueError for two of plane and ports, and for what is not a plane, a port, a way or a shape.
    """

    plane: Plane | None = None
    ports: Collection[int] | None = None
    one_way: Way | None = None
    shape: Shape = "apart"

    name: ClassVar[str] = "partition"
    splits: ClassVar[bool] = True
    together: ClassVar[bool] = True
    needs: ClassVar[frozenset[str]] = frozenset({"nft"})

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
        least = {"apart": 2, "halves": 2, "bridge": 3, "majority-ring": 4}[self.shape]
        there = len(topology.nodes) if self.shape == "apart" else target.most(topology)
        if there < least and self.shape == "apart":
            raise ValueError("a cluster of one node has no peers to be cut from")
        if there < least:
            raise ValueError(f"{self.shape}: at least {least} nodes are needed, and there are {there}")
        if isinstance(target, Groups) and self.shape != "apart":
            raise ValueError(f"shape={self.shape!r} makes groups of its own; leave one of the two out")
        if self.plane == "controller" and topology.zookeepers:
            raise ValueError("plane='controller' is KRaft's; in ZooKeeper mode name the ports")

    def cut_off(self, nodes: int) -> int:
        match self.shape:
            case "halves":
                return nodes // 2
            case "bridge":
                return (nodes - 1) // 2
            case "majority-ring":
                return 0  # each hears a majority
        return nodes

    def inject(self, context: FaultContext) -> None:
        cuts = self._cuts(context)
        context.notes |= {"earlier": context.network.dropped({cut.receiver for cut in cuts}), "cuts": cuts}
        context.network.cut(context.event, cuts)

    def verify_injected(self, context: FaultContext) -> Proof:
        """Effective when no probe gets an answer in either direction, and every cut has dropped packets."""
        cuts: frozenset[Cut] = context.notes["cuts"]
        if not cuts:
            return Proof(False, {"cuts": "none: the target has no peer to be cut from"})
        links = _links(context, cuts)
        answers: tuple[Answer, ...] = ()

        def silent() -> bool:
            nonlocal answers
            answers = probe(context.cluster.nodes, links)
            return all(answer.silent for answer in answers)

        cut_off = bool(links) and context.until(silent, INJECT_LIMIT)
        dropped = _dropped(context, cuts)
        evidence = {"probes": [answer.to_json() for answer in answers], "dropped": dropped}
        return Proof(cut_off and all(dropped.values()), evidence)

    def heal(self, context: FaultContext) -> None:
        cuts: frozenset[Cut] = context.notes.get("cuts", frozenset())
        try:
            context.notes["dropped"] = _dropped(context, cuts)
        except NetworkError as problem:
            context.notes["unread"] = str(problem)
        finally:
            context.network.heal(context.event)

    def verify_healed(self, context: FaultContext) -> Proof:
        """Effective when no rule is left and every probe gets through, but for what other faults cut."""
        cuts: frozenset[Cut] = context.notes.get("cuts", frozenset())
        dropped = context.notes.get("dropped", {})
        evidence: dict[str, object] = {"dropped": dropped}
        if "unread" in context.notes:
            evidence["dropped"] = f"unknown: {context.notes['unread']}"
        gone = [pair for pair, count in dropped.items() if count is None]
        if context.effective and gone:
            evidence["ended_early"] = (
                f"the rules of {', '.join(gone)} were gone, or had lapsed, before the fault's end"
            )
        wanted = _rules(context.network.cuts)
        left = sorted(
            f"{rule.comment} to {rule.receiver}"
            for rule in context.network.dropped({cut.receiver for cut in cuts})
            if rule in _rules(cuts) and rule not in wanted
        )
        links = {link for link in _links(context, cuts) if _free(link, context)}
        answers: tuple[Answer, ...] = ()

        def reached() -> bool:
            nonlocal answers
            answers = probe(context.cluster.nodes, links)
            return all(answer.reached for answer in answers)

        connected = context.until(reached, HEAL_LIMIT)
        evidence |= {"rules_left": left, "probes": [answer.to_json() for answer in answers]}
        if context.others:
            evidence["others"] = list(context.others)
        whole = not left and connected and "ended_early" not in evidence and "unread" not in context.notes
        return Proof(whole, evidence)

    def _cuts(self, context: FaultContext) -> frozenset[Cut]:
        ports = None if self.ports is None else frozenset(self.ports)
        if self.plane is not None:
            ports = context.cluster.planes[self.plane]
        return frozenset(Cut(receiver, sender, ports) for receiver, sender in self._deaf(context))

    def _deaf(self, context: FaultContext) -> Iterable[tuple[int, int]]:
        """Who shall not hear whom."""
        if isinstance(context.target, Groups):
            groups = context.target.groups
        elif self.shape != "apart":
            return SHAPES[self.shape](context.random.sample(sorted(context.nodes), len(context.nodes)))
        else:
            rest = tuple(node for node in sorted(context.cluster.nodes) if node not in context.nodes)
            # Where nobody is left to be cut off from, all are from each other.
            groups = (context.nodes, rest) if rest else tuple((node,) for node in context.nodes)
        if self.one_way is None:
            return _apart(groups)
        first, others = groups[0], [node for group in groups[1:] for node in group]
        pairs = product(others, first) if self.one_way == "out" else product(first, others)
        return list(pairs)


def _apart(groups: Iterable[Sequence[int]]) -> list[tuple[int, int]]:
    return [pair for here, there in permutations(groups, 2) for pair in product(here, there)]


def _halves(nodes: Sequence[int]) -> list[tuple[int, int]]:
    return _apart((nodes[: len(nodes) // 2], nodes[len(nodes) // 2 :]))


def _bridge(nodes: Sequence[int]) -> list[tuple[int, int]]:
    return _halves(nodes[1:])


def _majority_ring(nodes: Sequence[int]) -> list[tuple[int, int]]:
    """Each hears its neighbours on a ring, as many as make a majority with itself (one more where both sides get
    the same number of them)."""
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


def _links(context: FaultContext, cuts: Iterable[Cut]) -> frozenset[Link]:
    """What to try for each cut: every address of the receiver, on its ports or on one where it listens."""
    nodes = context.cluster.nodes
    return frozenset(
        Link(cut.sender, cut.receiver, address, port)
        for cut in cuts
        for address in nodes[cut.receiver].addresses
        for port in (cut.ports if cut.ports is not None else (nodes[cut.receiver].probe_port,))
    )


def _free(link: Link, context: FaultContext) -> bool:
    """Whether that link ought to answer: nothing cuts it, and no paused broker lets its queue overflow."""
    ends = {(link.source, link.destination), (link.destination, link.source)}
    cut = any(
        (cut.receiver, cut.sender) in ends and (cut.ports is None or link.port in cut.ports)
        for cut in context.network.cuts
    )
    return not cut and context.processes.desired(link.destination) != "paused"


def _rules(cuts: Iterable[Cut]) -> frozenset[Rule]:
    return frozenset(rule for cut in cuts for rule in cut.rules)


def _dropped(context: FaultContext, cuts: Iterable[Cut]) -> dict[str, int | None]:
    """Packets dropped since the injection by pair of nodes; None where a rule of the cut is missing.

    Where a whole link is cut, packets that the rule for one of its ports dropped count as well.
    """
    cuts = sorted(cuts, key=lambda cut: (cut.sender, cut.receiver))
    counted = context.network.dropped({cut.receiver for cut in cuts})
    earlier: dict[Rule, int] = context.notes.get("earlier", {})
    since = {rule: count - earlier.get(rule, 0) for rule, count in counted.items()}
    return {
        f"{cut.sender} to {cut.receiver}": None
        if not cut.rules <= counted.keys()
        else sum(
            count
            for rule, count in since.items()
            if rule in cut.rules
            or (cut.ports is None and (rule.receiver, rule.sender) == (cut.receiver, cut.sender))
        )
        for cut in cuts
    }
