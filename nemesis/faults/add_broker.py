"""Add broker: the cluster has one more broker for a while."""

from __future__ import annotations

from dataclasses import dataclass

from nemesis.event import OPEN, Event
from nemesis.fault import Fault, FaultContext, Proof
from nemesis.steps.serving import verify_member, verify_removed


@dataclass(frozen=True, kw_only=True)
class AddBroker(Fault):
    """At the end, the new broker's replicas move to the others, and it is removed."""

    name = "add-broker"
    family = "Kafka"
    proved_by = (
        "the controller answers that the new broker is registered and not fenced, and it serves clients"
    )
    end_proved_by = "the controller answers that the broker is not registered"
    target_family = "cluster"
    takes_all_nodes = True
    takes_nodes_down = False
    changes_cluster = True

    def inject(self, context: FaultContext) -> None:
        context.notes["added"] = context.cluster.kafka.add_broker()

    def verify_injected(self, context: FaultContext) -> Proof:
        return verify_member(context, context.notes["added"])

    def heal(self, context: FaultContext) -> None:
        if "added" in context.notes:
            context.cluster.kafka.remove_broker(context.notes["added"])

    def verify_healed(self, context: FaultContext) -> Proof:
        if "added" not in context.notes:
            return Proof(True, {"nothing": "no broker was added"})
        return verify_removed(context, context.notes["added"])


def add_broker(*, lasting: float = OPEN, at: float = 0, after: str | None = None) -> Event:
    """One more broker, which is removed at the end."""
    return Event.of(AddBroker(), "cluster", at=at, after=after, lasting=lasting)
