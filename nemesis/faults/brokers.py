"""Brokers that come and go while clients work."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from nemesis.faults.checked import brokers_only
from nemesis.faults.fault import Fault, Proof, Strike
from nemesis.faults.serving import LIMIT
from nemesis.ground import Ground
from nemesis.targets import Family, Groups, Target


@dataclass(frozen=True, kw_only=True)
class AddBroker(Fault):
    """One more broker; its replicas move to the others, and it is removed, at the end."""

    name: ClassVar[str] = "add-broker"
    ours: ClassVar[bool] = True
    strikes: ClassVar[Family] = "cluster"
    together: ClassVar[bool] = True
    down: ClassVar[bool] = False

    def inject(self, strike: Strike) -> None:
        strike.notes["added"] = strike.cluster.kafka.add_broker()

    def verify_injected(self, strike: Strike) -> Proof:
        added = strike.notes["added"]
        return Proof(strike.until(lambda: strike.cluster.serving(added), LIMIT), {"added": added})

    def heal(self, strike: Strike) -> None:
        if "added" in strike.notes:
            strike.cluster.kafka.remove_broker(strike.notes["added"])

    def verify_healed(self, strike: Strike) -> Proof:
        gone = strike.notes.get("added") not in strike.cluster.brokers
        return Proof(gone, {"brokers": sorted(strike.cluster.brokers)})


@dataclass(frozen=True, kw_only=True)
class RemoveBroker(Fault):
    """A broker's replicas move to the others, and it leaves the cluster; a new one takes its place at the end."""

    name: ClassVar[str] = "remove-broker"
    ours: ClassVar[bool] = True
    together: ClassVar[bool] = True

    def check(self, ground: Ground, target: Target | Groups) -> None:
        voters = set(ground.brokers) & set(ground.controllers)
        if voters:
            raise ValueError(
                f"brokers {', '.join(map(str, sorted(voters)))} vote in the KRaft quorum, which is fixed; use "
                f"ClusterSpec(controllers=...)"
            )
        brokers_only(ground, target, "are no brokers")
        if target.most(ground) != 1:
            raise ValueError("one broker at a time can be removed")
        if len(ground.brokers) <= ground.replicas:
            raise ValueError(
                f"{len(ground.brokers)} brokers less one are too few for {ground.replicas} replicas"
            )

    def inject(self, strike: Strike) -> None:
        strike.cluster.kafka.remove_broker(strike.node)
        strike.notes["removed"] = strike.node

    def verify_injected(self, strike: Strike) -> Proof:
        there = sorted(strike.cluster.brokers)
        return Proof(strike.node not in there, {"removed": strike.node, "brokers": there})

    def heal(self, strike: Strike) -> None:
        if "removed" in strike.notes:
            strike.notes["added"] = strike.cluster.kafka.add_broker()

    def verify_healed(self, strike: Strike) -> Proof:
        if "added" not in strike.notes:
            return Proof("removed" not in strike.notes, {"brokers": sorted(strike.cluster.brokers)})
        added = strike.notes["added"]
        return Proof(strike.until(lambda: strike.cluster.serving(added), LIMIT), {"added": added})
