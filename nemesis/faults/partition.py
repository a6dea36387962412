"""Partition: groups of nodes that cannot hear each other. Clients reach all of them."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass
from itertools import permutations
from typing import Any, ClassVar, Literal, get_args

from nemesis.faults.fault import Proof, Strike
from nemesis.network import NetworkError
from nemesis.nft import Cut, Rule
from nemesis.probe import Answer, Link, probe
from nemesis.targets import Groups

Plane = Literal["replication", "controller"]

INJECT_LIMIT = 3.0
HEAL_LIMIT = 10.0
"""Seconds in which a probe must show the cut, and its end."""


@dataclass(frozen=True, kw_only=True)
class Partition:
    """Cut on all ports, or on some TCP ports only.

    plane  only what is spoken there: ``replication`` or ``controller``.
    ports  only these ports of the nodes.
    Raises ValueError for both at once and for what is not a plane or a port.
    """

    plane: Plane | None = None
    ports: Collection[int] | None = None

    name: ClassVar[str] = "partition"
    splits: ClassVar[bool] = True

    def __post_init__(self) -> None:
        if self.plane is not None and self.plane not in get_args(Plane):
            raise ValueError(
                f"partition plane={self.plane!r}: allowed are {', '.join(get_args(Plane))}, or None"
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

    def options(self) -> dict[str, Any]:
        if self.ports is not None:
            return {"ports": sorted(self.ports)}
        return {} if self.plane is None else {"plane": self.plane}

    def inject(self, strike: Strike) -> None:
        cuts = self._cuts(strike)
        strike.notes |= {"earlier": strike.network.dropped({cut.receiver for cut in cuts}), "cuts": cuts}
        strike.network.cut(strike.event, cuts)

    def verify_injected(self, strike: Strike) -> Proof:
        """Effective when no probe gets an answer in either direction, and every cut has dropped packets."""
        cuts: frozenset[Cut] = strike.notes["cuts"]
        if not cuts:
            return Proof(False, {"cuts": "none: the target has no peer to be cut from"})
        links = _links(strike, cuts)
        answers: tuple[Answer, ...] = ()

        def silent() -> bool:
            nonlocal answers
            answers = probe(strike.cluster.nodes, links)
            return all(answer.silent for answer in answers)

        cut_off = bool(links) and strike.until(silent, INJECT_LIMIT)
        dropped = _dropped(strike, cuts)
        evidence = {"probes": [answer.to_json() for answer in answers], "dropped": dropped}
        return Proof(cut_off and all(dropped.values()), evidence)

    def heal(self, strike: Strike) -> None:
        cuts: frozenset[Cut] = strike.notes.get("cuts", frozenset())
        try:
            strike.notes["dropped"] = _dropped(strike, cuts)
        except NetworkError as problem:
            strike.notes["unread"] = str(problem)
        finally:
            strike.network.heal(strike.event)

    def verify_healed(self, strike: Strike) -> Proof:
        """Effective when no rule is left and every probe gets through, but for what other faults cut."""
        cuts: frozenset[Cut] = strike.notes.get("cuts", frozenset())
        dropped = strike.notes.get("dropped", {})
        evidence: dict[str, object] = {"dropped": dropped}
        if "unread" in strike.notes:
            evidence["dropped"] = f"unknown: {strike.notes['unread']}"
        gone = [pair for pair, count in dropped.items() if count is None]
        if strike.effective and gone:
            evidence["ended_early"] = f"the rules of {', '.join(gone)} were gone before the fault's end"
        wanted = _rules(strike.network.cuts)
        left = sorted(
            f"{rule.comment} to {rule.receiver}"
            for rule in strike.network.dropped({cut.receiver for cut in cuts})
            if rule in _rules(cuts) and rule not in wanted
        )
        links = {link for link in _links(strike, cuts) if _free(link, strike)}
        answers: tuple[Answer, ...] = ()

        def reached() -> bool:
            nonlocal answers
            answers = probe(strike.cluster.nodes, links)
            return all(answer.reached for answer in answers)

        connected = strike.until(reached, HEAL_LIMIT)
        evidence |= {"rules_left": left, "probes": [answer.to_json() for answer in answers]}
        if strike.others:
            evidence["others"] = list(strike.others)
        whole = not left and connected and "ended_early" not in evidence and "unread" not in strike.notes
        return Proof(whole, evidence)

    def _cuts(self, strike: Strike) -> frozenset[Cut]:
        ports = None if self.ports is None else frozenset(self.ports)
        if self.plane is not None:
            ports = strike.cluster.planes[self.plane]
        if isinstance(strike.target, Groups):
            groups = strike.target.groups
        else:
            rest = tuple(node for node in sorted(strike.cluster.nodes) if node != strike.node)
            groups = ((strike.node,), rest)
        return frozenset(
            Cut(receiver, sender, ports)
            for here, there in permutations(groups, 2)
            for receiver in here
            for sender in there
        )


def _links(strike: Strike, cuts: Iterable[Cut]) -> frozenset[Link]:
    """What to try for each cut: every address of the receiver, on its ports or on one where it listens."""
    nodes = strike.cluster.nodes
    return frozenset(
        Link(cut.sender, cut.receiver, address, port)
        for cut in cuts
        for address in nodes[cut.receiver].addresses
        for port in (cut.ports if cut.ports is not None else (nodes[cut.receiver].probe_port,))
    )


def _free(link: Link, strike: Strike) -> bool:
    """Whether that link ought to answer: nothing cuts it, and no paused broker lets its queue overflow."""
    ends = {(link.source, link.destination), (link.destination, link.source)}
    cut = any(
        (cut.receiver, cut.sender) in ends and (cut.ports is None or link.port in cut.ports)
        for cut in strike.network.cuts
    )
    return not cut and strike.processes.desired(link.destination) != "paused"


def _rules(cuts: Iterable[Cut]) -> frozenset[Rule]:
    return frozenset(rule for cut in cuts for rule in cut.rules)


def _dropped(strike: Strike, cuts: Iterable[Cut]) -> dict[str, int | None]:
    """Packets dropped since the injection by pair of nodes; None where a rule of the cut is missing.

    Where a whole link is cut, packets that the rule for one of its ports dropped count as well.
    """
    cuts = sorted(cuts, key=lambda cut: (cut.sender, cut.receiver))
    counted = strike.network.dropped({cut.receiver for cut in cuts})
    earlier: dict[Rule, int] = strike.notes.get("earlier", {})
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
