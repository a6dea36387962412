"""Remove broker: a broker leaves the cluster for good, and a new one takes its place at the end."""

from __future__ import annotations

from dataclasses import dataclass

from nemesis.event import OPEN, Event
from nemesis.fault import Fault, FaultContext, Proof
from nemesis.steps.serving import verify_member, verify_removed
from nemesis.targets import Groups, Target, brokers_only
from nemesis.topology import Topology


@dataclass(frozen=True, kw_only=True)
class RemoveBroker(Fault):
    """The broker's replicas move to the others before it leaves."""

    name = "remove-broker"
    family = "Kafka"
    proved_by = "the controller answers that it is not registered"
    end_proved_by = (
        "the controller answers that the new broker is registered and not fenced, and it serves clients"
    )
    requires = "separate controllers (or ZooKeeper mode); more brokers than replicas"
    takes_all_nodes = True
    changes_cluster = True

    def check(self, topology: Topology, target: Target | Groups) -> None:
        voters = set(topology.brokers) & set(topology.controllers)
        if voters:
            raise ValueError(
                f"brokers {', '.join(map(str, sorted(voters)))} vote in the KRaft quorum, which is fixed; use "
                f"ClusterSpec(controllers=...)"
            )
        brokers_only(topology, target, "are no brokers")
        if target.most(topology) != 1:
            raise ValueError("one broker at a time can be removed")
        # Of topics that nobody declared, it is known only when the broker's replicas move.
        replicas = 1 if topology.any_topic else topology.replicas
        if len(topology.brokers) <= replicas:
            raise ValueError(f"{len(topology.brokers)} brokers less one are too few for {replicas} replicas")

    def inject(self, context: FaultContext) -> None:
        context.cluster.kafka.remove_broker(context.node_id)
        context.notes["removed"] = context.node_id

    def verify_injected(self, context: FaultContext) -> Proof:
        return verify_removed(context, context.node_id)

    def heal(self, context: FaultContext) -> None:
        if "removed" in context.notes:
            context.notes["added"] = context.cluster.kafka.add_broker()

    def verify_healed(self, context: FaultContext) -> Proof:
        if "added" not in context.notes:
            return Proof("removed" not in context.notes, {"brokers": sorted(context.cluster.brokers)})
        return verify_member(context, context.notes["added"])


def remove_broker(
    target: str | int, *, lasting: float = OPEN, at: float = 0, after: str | None = None
) -> Event:
    """The broker's replicas move to the others, and it leaves the cluster; a new broker is added at the end."""
    return Event.of(RemoveBroker(), target, at=at, after=after, lasting=lasting)
