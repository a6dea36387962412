"""DNS: the node gets no answer when it asks for a name. Names it knows already stay known for a while."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from nemesis.effects.filters import counted, filtered
from nemesis.effects.lease_table import chain
from nemesis.effects.reconciler import Resource
from nemesis.faults.fault import Fault, FaultContext, Proof
from nemesis.targets import Groups, Target
from nemesis.topology import Topology

LIMIT = 5.0
"""Seconds in which a question must go unanswered, and be answered again."""

ASK = "timeout 1 getent hosts {} >/dev/null"


def _chains(_: object) -> list[str]:
    return [chain("output", ["ip daddr 127.0.0.11 meta l4proto { tcp, udp } th dport 53 counter drop"])]


DNS: Resource = filtered("dns", any, _chains)


@dataclass(frozen=True, kw_only=True)
class Dns(Fault):
    """Questions to the engine's name server are dropped."""

    name: ClassVar[str] = "dns"
    down: ClassVar[bool] = False
    needs: ClassVar[frozenset[str]] = frozenset({"nft"})

    def check(self, topology: Topology, target: Target | Groups) -> None:  # noqa: ARG002
        if len(topology.nodes) < 2:
            raise ValueError("a cluster of one node asks for nobody's name")

    def inject(self, context: FaultContext) -> None:
        context.desired.want(context.event, context.node, DNS, True)

    def verify_injected(self, context: FaultContext) -> Proof:
        unknown = context.until(lambda: not _resolves(context), LIMIT)
        dropped = counted(context.process, DNS.name)
        # A name that nobody knows for another reason is no proof.
        return Proof(unknown and bool(dropped), {"resolved": not unknown, "dropped": dropped})

    def heal(self, context: FaultContext) -> None:
        try:
            context.notes["dropped"] = counted(context.process, DNS.name)
        finally:
            context.desired.release(context.event, context.node, DNS)

    def verify_healed(self, context: FaultContext) -> Proof:
        evidence: dict[str, object] = {"dropped": context.notes.get("dropped")}
        if context.effective and context.notes.get("dropped") is None:
            return Proof(
                False,
                {**evidence, "ended_early": "the rules were gone, or had lapsed, before the fault's end"},
            )
        if context.desired.now(DNS, context.node) is not None:
            return Proof(True, {**evidence, "held_by": list(context.others)})
        return Proof(context.until(lambda: _resolves(context), LIMIT), evidence)


def _resolves(context: FaultContext) -> bool:
    """Whether the node's network finds the name of a peer; its own is in a file."""
    peer = next(node for node in context.cluster.nodes.values() if node.id != context.node)
    return context.process.shell(ASK.format(peer.host), timeout=3)[0] == 0
