"""DNS: the node gets no answer when it looks up a name. For a while it still knows names that it looked up before."""

from __future__ import annotations

from dataclasses import dataclass

from nemesis.effects.network import filtered
from nemesis.effects.nft import chain
from nemesis.event import OPEN, Event
from nemesis.fault import FaultContext, Proof
from nemesis.steps.packets import FiltersPackets
from nemesis.targets import Groups, Target
from nemesis.topology import Topology

LIMIT = 5.0
"""Seconds in which a look-up must fail, or succeed again."""

LOOK_UP = "timeout 1 getent hosts {} >/dev/null"


def _chains(_: object) -> list[str]:
    # 127.0.0.11 is the name server that the Docker engine gives to containers.
    return [chain("output", ["ip daddr 127.0.0.11 meta l4proto { tcp, udp } th dport 53 counter drop"])]


@dataclass(frozen=True, kw_only=True)
class Dns(FiltersPackets):
    """Queries to the engine's name server are dropped."""

    name = "dns"
    proved_by = "the name of a peer is not found, and packets were dropped"
    end_proved_by = "no rules are left, and the name of a peer is found"
    requires = "2 nodes"
    takes_nodes_down = False
    resource = filtered("dns", any, _chains)

    def check(self, topology: Topology, target: Target | Groups) -> None:  # noqa: ARG002
        if len(topology.nodes) < 2:
            raise ValueError("a cluster of one node looks up no names")

    def rules(self, context: FaultContext) -> bool:  # noqa: ARG002
        return True

    def verify_injected(self, context: FaultContext) -> Proof:
        is_unknown = context.wait_until(lambda: not _resolves(context), LIMIT)
        dropped = self.dropped(context)
        # Without dropped packets the look-up failed for another reason.
        return Proof(is_unknown and bool(dropped), {"resolved": not is_unknown, "dropped": dropped})

    def verify_passing(self, context: FaultContext) -> Proof:
        if context.resources.wanted(self.resource, context.node_id) is not None:
            return Proof(True, {"held_by": list(context.others)})
        is_known = context.wait_until(lambda: _resolves(context), LIMIT)
        return Proof(is_known, {"resolved": is_known})


def _resolves(context: FaultContext) -> bool:
    """Whether the node finds the name of a peer. Its own name is in a file."""
    peer = next(node for node in context.cluster.nodes.values() if node.id != context.node_id)
    return context.node.look(LOOK_UP.format(peer.host), timeout=3)[0] == 0


def dns(target: str | int, *, lasting: float = OPEN, at: float = 0, after: str | None = None) -> Event:
    """The node gets no answer when it looks up a name."""
    return Event.of(Dns(), target, at=at, after=after, lasting=lasting)
