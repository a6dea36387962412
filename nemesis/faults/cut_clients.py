"""Cut clients: a node that its peers reach, and its clients do not."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple, get_args

from nemesis.effects.network import filtered
from nemesis.effects.nft import chain
from nemesis.event import OPEN, Event
from nemesis.fault import Draw, FaultContext, Proof
from nemesis.steps.packets import FiltersPackets
from nemesis.targets import Groups, Target, brokers_only
from nemesis.topology import Topology
from nemesis.validation import choice

Way = Literal["in", "out"]

LIMIT = 5.0
"""Seconds in which a client's request must stay unanswered, or be answered again."""


class _Wish(NamedTuple):
    """ways: what to drop. macs, addresses: of all nodes; their packets pass."""

    ways: frozenset[str]
    macs: tuple[str, ...]
    addresses: tuple[str, ...]


def _combined(wishes: Sequence[_Wish]) -> _Wish:
    return _Wish(frozenset().union(*(wish.ways for wish in wishes)), *wishes[0][1:])


def _chains(wish: _Wish) -> Iterable[str]:
    if "in" in wish.ways:
        # A client on the host sends with the bridge's address, one in a container with its own. Neither is a node's.
        yield chain("input", [f'iifname "eth0" ether saddr != {{ {", ".join(wish.macs)} }} counter drop'])
    if "out" in wish.ways:
        rules = []
        for version, sign in (("ip", "."), ("ip6", ":")):
            if peers := [address for address in wish.addresses if sign in address]:
                rules.append(f'oifname "eth0" {version} daddr != {{ {", ".join(peers)} }} counter drop')
        yield chain("output", rules)


@dataclass(frozen=True, kw_only=True)
class CutClients(FiltersPackets):
    """one_way: "in" drops requests of clients, "out" the responses to them; None drops both.

    Connections stay open: packets that were not delivered arrive after the heal.
    """

    one_way: Way | None = None

    name = "cut-clients"
    proved_by = "a client's request stays unanswered, and packets were dropped"
    end_proved_by = "no rules are left, and the broker answers a client"
    draw = Draw(weight=1, options=({}, {"one_way": "in"}, {"one_way": "out"}))
    resource = filtered("clients", _combined, _chains)

    def __post_init__(self) -> None:
        choice("cut-clients one_way", self.one_way, (None, *get_args(Way)))

    def check(self, topology: Topology, target: Target | Groups) -> None:
        brokers_only(topology, target, "have no clients")

    def rules(self, context: FaultContext) -> _Wish:
        nodes = context.cluster.nodes.values()
        return _Wish(
            ways=frozenset({self.one_way} if self.one_way else get_args(Way)),
            macs=tuple(node.mac for node in nodes),
            addresses=tuple(address for node in nodes for address in node.addresses),
        )

    def verify_injected(self, context: FaultContext) -> Proof:
        is_silent = context.wait_until(lambda: not context.cluster.answers(context.node_id), LIMIT)
        dropped = self.dropped(context)
        return Proof(is_silent and bool(dropped), {"client_answered": not is_silent, "dropped": dropped})

    def verify_passing(self, context: FaultContext) -> Proof:
        if context.others:
            return Proof(True, {"others": list(context.others)})
        is_answered = context.wait_until(lambda: context.cluster.answers(context.node_id), LIMIT)
        return Proof(is_answered, {"client_answered": is_answered})


def cut_clients(
    target: str | int,
    *,
    lasting: float = OPEN,
    at: float = 0,
    after: str | None = None,
    one_way: Way | None = None,
) -> Event:
    """Clients do not reach the node, its peers do; connections stay open.

    one_way  "in" drops requests, "out" responses.
    """
    return Event.of(CutClients(one_way=one_way), target, at=at, after=after, lasting=lasting)
