"""Cut clients: a node that its peers hear and its clients do not."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import ClassVar, Literal, NamedTuple, get_args

from nemesis.effects.filters import counted, filtered
from nemesis.effects.lease_table import chain
from nemesis.effects.reconciler import Resource
from nemesis.faults.fault import Fault, FaultContext, Proof
from nemesis.targets import Groups, Target
from nemesis.topology import Topology
from nemesis.validation import brokers_only, choice

Way = Literal["in", "out"]

LIMIT = 5.0
"""Seconds in which a question of ours must go unanswered, and be answered again."""


class _Wish(NamedTuple):
    ways: frozenset[str]
    macs: tuple[str, ...]
    addresses: tuple[str, ...]


def _together(wishes: Sequence[_Wish]) -> _Wish:
    return _Wish(frozenset().union(*(wish.ways for wish in wishes)), *wishes[0][1:])


def _chains(wish: _Wish) -> Iterable[str]:
    if "in" in wish.ways:
        # A client on the host comes with the bridge's address, one in a container with its own: neither is a peer's.
        yield chain("input", [f'iifname "eth0" ether saddr != {{ {", ".join(wish.macs)} }} counter drop'])
    if "out" in wish.ways:
        answers = []
        for version, sign in (("ip", "."), ("ip6", ":")):
            if peers := [address for address in wish.addresses if sign in address]:
                answers.append(f'oifname "eth0" {version} daddr != {{ {", ".join(peers)} }} counter drop')
        yield chain("output", answers)


CLIENTS: Resource = filtered("clients", _together, _chains)


@dataclass(frozen=True, kw_only=True)
class CutClients(Fault):
    """one_way: "in" loses what clients say, "out" what they are answered; None both.

    Connections stay as they are: what was on its way arrives after the heal.
    """

    one_way: Way | None = None

    name: ClassVar[str] = "cut-clients"
    needs: ClassVar[frozenset[str]] = frozenset({"nft"})

    def __post_init__(self) -> None:
        choice("cut-clients one_way", self.one_way, (None, *get_args(Way)))

    def check(self, topology: Topology, target: Target | Groups) -> None:
        brokers_only(topology, target, "have no clients")

    def inject(self, context: FaultContext) -> None:
        nodes = context.cluster.nodes.values()
        wish = _Wish(
            frozenset({self.one_way} if self.one_way else get_args(Way)),
            tuple(node.mac for node in nodes),
            tuple(address for node in nodes for address in node.addresses),
        )
        context.desired.want(context.event, context.node, CLIENTS, wish)

    def verify_injected(self, context: FaultContext) -> Proof:
        """Effective when a client gets no answer, and packets were dropped."""
        silent = context.until(lambda: not context.cluster.answers(context.node), LIMIT)
        dropped = counted(context.process, CLIENTS.name)
        return Proof(silent and bool(dropped), {"client_answered": not silent, "dropped": dropped})

    def heal(self, context: FaultContext) -> None:
        try:
            context.notes["dropped"] = counted(context.process, CLIENTS.name)
        finally:
            context.desired.release(context.event, context.node, CLIENTS)

    def verify_healed(self, context: FaultContext) -> Proof:
        evidence: dict[str, object] = {"dropped": context.notes.get("dropped")}
        if context.effective and context.notes.get("dropped") is None:
            return Proof(
                False,
                {**evidence, "ended_early": "the rules were gone, or had lapsed, before the fault's end"},
            )
        if (
            context.desired.now(CLIENTS, context.node) is None
            and counted(context.process, CLIENTS.name) is not None
        ):
            return Proof(False, {**evidence, "rules_left": True})
        if context.others:
            return Proof(True, {**evidence, "others": list(context.others)})
        answered = context.until(lambda: context.cluster.answers(context.node), LIMIT)
        return Proof(answered, {**evidence, "client_answered": answered})
