"""Brokers that come and go while clients work."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from nemesis.faults.fault import Fault, FaultContext, Proof
from nemesis.faults.serving import LIMIT
from nemesis.targets import Family, Groups, Target
from nemesis.topology import Topology
from nemesis.validation import brokers_only


@dataclass(frozen=True, kw_only=True)
class AddBroker(Fault):
    """One more broker; its replicas move to the others, and it is removed, at the end."""

    name: ClassVar[str] = "add-broker"
    ours: ClassVar[bool] = True
    strikes: ClassVar[Family] = "cluster"
    together: ClassVar[bool] = True
    down: ClassVar[bool] = False

    def inject(self, context: FaultContext) -> None:
        context.notes["added"] = context.cluster.kafka.add_broker()

    def verify_injected(self, context: FaultContext) -> Proof:
        added = context.notes["added"]
        return Proof(context.until(lambda: context.cluster.serving(added), LIMIT), {"added": added})

    def heal(self, context: FaultContext) -> None:
        if "added" in context.notes:
            context.cluster.kafka.remove_broker(context.notes["added"])

    def verify_healed(self, context: FaultContext) -> Proof:
        gone = context.notes.get("added") not in context.cluster.brokers
        return Proof(gone, {"brokers": sorted(context.cluster.brokers)})


@dataclass(frozen=True, kw_only=True)
class RemoveBroker(Fault):
    """A broker's replicas move to the others, and it leaves the cluster; a new one takes its place at the end."""

    name: ClassVar[str] = "remove-broker"
    ours: ClassVar[bool] = True
    together: ClassVar[bool] = True

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
        if len(topology.brokers) <= topology.replicas:
            raise ValueError(
                f"{len(topology.brokers)} brokers less one are too few for {topology.replicas} replicas"
            )

    def inject(self, context: FaultContext) -> None:
        context.cluster.kafka.remove_broker(context.node)
        context.notes["removed"] = context.node

    def verify_injected(self, context: FaultContext) -> Proof:
        there = sorted(context.cluster.brokers)
        return Proof(context.node not in there, {"removed": context.node, "brokers": there})

    def heal(self, context: FaultContext) -> None:
        if "removed" in context.notes:
            context.notes["added"] = context.cluster.kafka.add_broker()

    def verify_healed(self, context: FaultContext) -> Proof:
        if "added" not in context.notes:
            return Proof("removed" not in context.notes, {"brokers": sorted(context.cluster.brokers)})
        added = context.notes["added"]
        return Proof(context.until(lambda: context.cluster.serving(added), LIMIT), {"added": added})
