"""Faults that cut the links between nodes. Clients still reach all nodes.

The rules drop packets where they arrive, so a cut in one direction is possible. Both verifications connect from node
to node (`nemesis.effects.probe`), because a rule that is in place proves little: it may match nothing.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import permutations, product

from nemesis.effects.network import NetworkError
from nemesis.effects.nft import Cut, Rule
from nemesis.effects.probe import Answer, Link, probe
from nemesis.fault import Fault, FaultContext, Proof
from nemesis.targets import Groups, Target
from nemesis.topology import Topology

INJECT_LIMIT = 3.0
"""Seconds in which probes must show the cut."""

HEAL_LIMIT = 10.0
"""Seconds in which probes must get through again after the heal."""


class CutsLinks(Fault):
    """Cuts the target off from all other nodes, on all ports. Subclasses may cut other links (`cuts`)."""

    family = "network"
    proved_by = "no probe gets an answer in either direction, and every cut dropped packets"
    end_proved_by = "no rule of the cuts is left, and every probe gets an answer"
    takes_all_nodes = True
    needs = frozenset({"nft"})

    def check(self, topology: Topology, target: Target | Groups) -> None:  # noqa: ARG002
        if len(topology.nodes) < 2:
            raise ValueError("a cluster of one node has no peers to be cut from")

    def cuts(self, context: FaultContext) -> frozenset[Cut]:
        """What is dropped where."""
        return frozenset(Cut(receiver, sender) for receiver, sender in between(groups_of(context)))

    def inject(self, context: FaultContext) -> None:
        cuts = self.cuts(context)
        context.notes |= {"earlier": context.network.dropped({cut.receiver for cut in cuts}), "cuts": cuts}
        context.network.cut(context.event, cuts)

    def verify_injected(self, context: FaultContext) -> Proof:
        """Effective when no probe gets an answer in either direction, and every cut has dropped packets."""
        cuts: frozenset[Cut] = context.notes["cuts"]
        if not cuts:
            return Proof(False, {"cuts": "none: the target has no peer to be cut from"})
        links = _links(context, cuts)
        answers: tuple[Answer, ...] = ()

        def is_silent() -> bool:
            nonlocal answers
            answers = probe(context.cluster.nodes, links)
            return all(answer.silent for answer in answers)

        is_cut_off = bool(links) and context.wait_until(is_silent, INJECT_LIMIT)
        dropped = _dropped(context, cuts)
        evidence = {"probes": [answer.to_json() for answer in answers], "dropped": dropped}
        return Proof(is_cut_off and all(dropped.values()), evidence)

    def heal(self, context: FaultContext) -> None:
        cuts: frozenset[Cut] = context.notes.get("cuts", frozenset())
        try:
            context.notes["dropped"] = _dropped(context, cuts)
        except NetworkError as problem:
            context.notes["unread"] = str(problem)
        finally:
            context.network.heal(context.event)

    def verify_healed(self, context: FaultContext) -> Proof:
        """Effective when no rule is left and every probe gets through, apart from what other faults cut. The
        injection had its effect if every cut dropped packets."""
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
        unwanted = context.network.unwanted({cut.receiver for cut in cuts})
        left = sorted(f"{rule.comment} to {rule.receiver}" for rule in unwanted if rule in _rules(cuts))
        links = _links(context, cuts)
        answers: tuple[Answer, ...] = ()

        def is_reached() -> bool:
            nonlocal answers
            # Other faults may begin and end meanwhile.
            wanted = {link for link in links if _should_answer(link, context)}
            answers = probe(context.cluster.nodes, wanted)
            return all(answer.reached or not _should_answer(answer.link, context) for answer in answers)

        is_connected = context.wait_until(is_reached, HEAL_LIMIT)
        evidence |= {"rules_left": left, "probes": [answer.to_json() for answer in answers]}
        if context.others:
            evidence["others"] = list(context.others)
        is_certain = "ended_early" not in evidence and "unread" not in context.notes
        had_effect = is_certain and bool(dropped) and all(dropped.values())
        return Proof(not left and is_connected and is_certain, evidence, had_effect)


def groups_of(context: FaultContext) -> Sequence[Sequence[int]]:
    """The groups that are cut from each other: those of the target, or the target and all other nodes."""
    if isinstance(context.target, Groups):
        return context.target.groups
    rest = tuple(node for node in sorted(context.cluster.nodes) if node not in context.node_ids)
    # A target of all nodes has no rest: then each node is cut from every other one.
    return (context.node_ids, rest) if rest else tuple((node,) for node in context.node_ids)


def between(groups: Iterable[Sequence[int]]) -> list[tuple[int, int]]:
    """(receiver, sender) for all nodes of different groups, in both directions."""
    return [pair for here, there in permutations(groups, 2) for pair in product(here, there)]


def _links(context: FaultContext, cuts: Iterable[Cut]) -> frozenset[Link]:
    """The connections to try for each cut: to every address of the receiver, on its ports or on one where it
    listens.
    """
    nodes = context.cluster.nodes
    return frozenset(
        Link(cut.sender, cut.receiver, address, port)
        for cut in cuts
        for address in nodes[cut.receiver].addresses
        for port in (cut.ports if cut.ports is not None else (nodes[cut.receiver].probe_port,))
    )


def _should_answer(link: Link, context: FaultContext) -> bool:
    """Whether a probe of the link gets an answer: no fault cuts it, and the listening broker is not paused.

    The queue of connections that a paused broker has not accepted may overflow.
    """
    ends = {(link.source, link.destination), (link.destination, link.source)}
    is_cut = any(
        (cut.receiver, cut.sender) in ends and (cut.ports is None or link.port in cut.ports)
        for cut in context.network.cuts
    )
    return not is_cut and context.processes.wanted(link.destination) != "paused"


def _rules(cuts: Iterable[Cut]) -> frozenset[Rule]:
    return frozenset(rule for cut in cuts for rule in cut.rules)


def _dropped(context: FaultContext, cuts: Iterable[Cut]) -> dict[str, int | None]:
    """Packets dropped since the injection, by pair of nodes; None where a rule of the cut is missing.

    Where a whole link is cut, packets that were dropped by the rule for one of its ports count as well.
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
