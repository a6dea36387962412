"""Things Kafka's coordinators must cope with: a controller deposed, a producer fenced, a group rebalanced."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from nemesis.faults.fault import Fault, Proof, Strike
from nemesis.ground import Ground
from nemesis.targets import Family, Groups, Target

LIMIT = 30.0
"""Seconds for the effect to be told."""


@dataclass(frozen=True, kw_only=True)
class DeleteController(Fault):
    """ZooKeeper mode: /controller is deleted, and the brokers elect one anew."""

    name: ClassVar[str] = "delete-controller"
    strikes: ClassVar[Family] = "cluster"
    together: ClassVar[bool] = True
    momentary: ClassVar[bool] = True
    down: ClassVar[bool] = False

    def check(self, ground: Ground, target: Target | Groups) -> None:  # noqa: ARG002
        if ground.coordination != "ZooKeeper":
            raise ValueError(
                "KRaft has no /controller to delete; kill or pause the target controller instead"
            )

    def inject(self, strike: Strike) -> None:
        strike.notes |= {
            "epoch": strike.cluster.kafka.controller_epoch(),
            "controller": strike.cluster.controller(),
        }
        strike.cluster.kafka.delete_controller()

    def verify_injected(self, strike: Strike) -> Proof:
        kafka, before = strike.cluster.kafka, strike.notes["epoch"]
        elected = strike.until(
            lambda: kafka.controller_epoch() > before and strike.cluster.controller() is not None, LIMIT
        )
        evidence = {
            "controller_before": strike.notes["controller"],
            "controller": strike.cluster.controller(),
            "epoch_before": before,
            "epoch": kafka.controller_epoch(),
        }
        return Proof(elected, evidence)


@dataclass(frozen=True, kw_only=True)
class Fence(Fault):
    """Somebody else takes over a transactional id: whoever had it is fenced."""

    name: ClassVar[str] = "fence"
    strikes: ClassVar[Family] = "producer"
    together: ClassVar[bool] = True
    momentary: ClassVar[bool] = True
    down: ClassVar[bool] = False

    def inject(self, strike: Strike) -> None:
        strike.notes["epoch"] = strike.cluster.kafka.transaction(_name(strike))[1]
        strike.notes["new"] = strike.cluster.kafka.fence(_name(strike))

    def verify_injected(self, strike: Strike) -> Proof:
        before, new = strike.notes["epoch"], strike.notes["new"]
        # Without an earlier epoch there was nobody to fence; epochs begin anew with another producer id.
        return Proof(before >= 0 and new != before, {"producer_epoch_before": before, "producer_epoch": new})


@dataclass(frozen=True, kw_only=True)
class Rebalance(Fault):
    """One more member joins a group and leaves again, so that partitions are handed out twice."""

    name: ClassVar[str] = "rebalance"
    strikes: ClassVar[Family] = "group"
    together: ClassVar[bool] = True
    momentary: ClassVar[bool] = True
    down: ClassVar[bool] = False

    def inject(self, strike: Strike) -> None:
        strike.notes["state"], strike.notes["members"] = strike.cluster.kafka.group(_name(strike))
        if strike.notes["members"]:
            strike.notes["generation"] = strike.cluster.kafka.rebalance(_name(strike))

    def verify_injected(self, strike: Strike) -> Proof:
        """Effective when there were members, and the generation that ours took part in is not the group's first."""
        return Proof(strike.notes.get("generation", 0) > 1, dict(strike.notes))


def _name(strike: Strike) -> str:
    assert isinstance(strike.target, Target)
    return strike.target.name or ""
