"""DNS: the node gets no answer when it asks for a name. Names it knows already stay known for a while."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from nemesis.desired import Resource
from nemesis.faults.fault import Fault, Proof, Strike
from nemesis.filters import counted, filtered
from nemesis.ground import Ground
from nemesis.table import chain
from nemesis.targets import Groups, Target

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

    def check(self, ground: Ground, target: Target | Groups) -> None:  # noqa: ARG002
        if len(ground.nodes) < 2:
            raise ValueError("a cluster of one node asks for nobody's name")

    def inject(self, strike: Strike) -> None:
        strike.desired.want(strike.event, strike.node, DNS, True)

    def verify_injected(self, strike: Strike) -> Proof:
        unknown = strike.until(lambda: not _resolves(strike), LIMIT)
        dropped = counted(strike.process, DNS.name)
        # A name that nobody knows for another reason is no proof.
        return Proof(unknown and bool(dropped), {"resolved": not unknown, "dropped": dropped})

    def heal(self, strike: Strike) -> None:
        try:
            strike.notes["dropped"] = counted(strike.process, DNS.name)
        finally:
            strike.desired.release(strike.event, strike.node, DNS)

    def verify_healed(self, strike: Strike) -> Proof:
        evidence: dict[str, object] = {"dropped": strike.notes.get("dropped")}
        if strike.effective and strike.notes.get("dropped") is None:
            return Proof(
                False,
                {**evidence, "ended_early": "the rules were gone, or had lapsed, before the fault's end"},
            )
        if strike.desired.now(DNS, strike.node) is not None:
            return Proof(True, {**evidence, "held_by": list(strike.others)})
        return Proof(strike.until(lambda: _resolves(strike), LIMIT), evidence)


def _resolves(strike: Strike) -> bool:
    """Whether the node's network finds the name of a peer; its own is in a file."""
    peer = next(node for node in strike.cluster.nodes.values() if node.id != strike.node)
    return strike.process.shell(ASK.format(peer.host), timeout=3)[0] == 0
