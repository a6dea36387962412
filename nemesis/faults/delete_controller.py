"""Delete controller: in ZooKeeper mode, the brokers must elect a new controller."""

from __future__ import annotations

from dataclasses import dataclass

from nemesis.event import Event
from nemesis.fault import Fault, FaultContext, Proof
from nemesis.targets import Groups, Target
from nemesis.topology import Topology

LIMIT = 30.0
"""Seconds for a new controller to be known."""


@dataclass(frozen=True, kw_only=True)
class DeleteController(Fault):
    """The ZooKeeper node /controller is deleted. The same broker may win the election."""

    name = "delete-controller"
    family = "Kafka"
    proved_by = "a higher controller epoch, and a controller"
    requires = "ZooKeeper mode"
    target_family = "cluster"
    takes_all_nodes = True
    momentary = True
    takes_nodes_down = False

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
        cluster, before = context.cluster, context.notes["epoch"]
        is_elected = context.wait_until(
            lambda: cluster.kafka.controller_epoch() > before and cluster.controller() is not None, LIMIT
        )
        evidence = {
            "controller_before": context.notes["controller"],
            "controller": cluster.controller(),
            "epoch_before": before,
            "epoch": cluster.kafka.controller_epoch(),
        }
        return Proof(is_elected, evidence)


def delete_controller(*, at: float = 0, after: str | None = None) -> Event:
    """``/controller`` is deleted in ZooKeeper, and the brokers elect a new controller."""
    return Event.of(DeleteController(), "cluster", at=at, after=after)
