"""Rebalance: the partitions of a consumer group are assigned anew."""

from __future__ import annotations

from dataclasses import dataclass

from nemesis.event import Event
from nemesis.fault import Draw, Fault, FaultContext, Proof
from nemesis.resolution import TARGET_LIMIT
from nemesis.targets import Groups, Target
from nemesis.topology import Topology
from nemesis.triggers import REBALANCING


@dataclass(frozen=True, kw_only=True)
class Rebalance(Fault):
    """One more member joins the group and leaves again, so that partitions are assigned twice."""

    name = "rebalance"
    family = "Kafka"
    proved_by = "the group had members, and the new member took part in a generation after the first"
    requires = "a group of the classic protocol"
    target_family = "group"
    takes_all_nodes = True
    momentary = True
    draw = Draw(clients_weight=2)
    takes_nodes_down = False

    def check(self, topology: Topology, target: Target | Groups) -> None:
        if not topology.has_classic_groups:
            raise ValueError(
                f"{target}: one more member joins by the classic protocol, which its coordinator refuses; use "
                f"kill_client, after which another member takes the place of one"
            )

    def inject(self, context: FaultContext) -> None:
        assert isinstance(context.target, Target)
        name, kafka = context.target.name or "", context.cluster.kafka

        def is_stable() -> bool:
            context.notes["state"], context.notes["members"] = kafka.group(name)
            return context.notes["state"] not in REBALANCING

        # While it rebalances, brokers do not report the topics of its members.
        context.wait_until(is_stable, TARGET_LIMIT)
        if context.notes["members"]:
            context.notes["generation"] = kafka.rebalance(name)

    def verify_injected(self, context: FaultContext) -> Proof:
        # In the first generation the new member was alone: nothing was reassigned.
        return Proof(context.notes.get("generation", 0) > 1, dict(context.notes))


def rebalance(target: str, *, at: float = 0, after: str | None = None) -> Event:
    """One more member joins a group, such as ``"group:readers"``, and leaves again."""
    return Event.of(Rebalance(), target, at=at, after=after)
