"""Things Kafka's coordinators must cope with: a controller deposed, a producer fenced, a group rebalanced."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from nemesis.faults.fault import Fault, FaultContext, Proof
from nemesis.targets import Family, Groups, Target
from nemesis.topology import Topology

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

    def check(self, topology: Topology, target: Target | Groups) -> None:  # noqa: ARG002
        if topology.coordination != "ZooKeeper":
            raise ValueError(
                "KRaft has no /controller to delete; kill or pause the target controller instead"
            )

    def inject(self, context: FaultContext) -> None:
        context.notes |= {
            "epoch": context.cluster.kafka.controller_epoch(),
            "controller": context.cluster.controller(),
        }
        context.cluster.kafka.delete_controller()

    def verify_injected(self, context: FaultContext) -> Proof:
        kafka, before = context.cluster.kafka, context.notes["epoch"]
        elected = context.until(
            lambda: kafka.controller_epoch() > before and context.cluster.controller() is not None, LIMIT
        )
        evidence = {
            "controller_before": context.notes["controller"],
            "controller": context.cluster.controller(),
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

    def inject(self, context: FaultContext) -> None:
        context.notes["epoch"] = context.cluster.kafka.transaction(_name(context))[1]
        context.notes["new"] = context.cluster.kafka.fence(_name(context))

    def verify_injected(self, context: FaultContext) -> Proof:
        before, new = context.notes["epoch"], context.notes["new"]
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

    def inject(self, context: FaultContext) -> None:
        context.notes["state"], context.notes["members"] = context.cluster.kafka.group(_name(context))
        if context.notes["members"]:
            context.notes["generation"] = context.cluster.kafka.rebalance(_name(context))

    def verify_injected(self, context: FaultContext) -> Proof:
        """Effective when there were members, and the generation that ours took part in is not the group's first."""
        return Proof(context.notes.get("generation", 0) > 1, dict(context.notes))


def _name(context: FaultContext) -> str:
    assert isinstance(context.target, Target)
    return context.target.name or ""
