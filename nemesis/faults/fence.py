"""Fence: another producer takes over a transactional id."""

from __future__ import annotations

from dataclasses import dataclass

from nemesis.event import Event
from nemesis.fault import Draw, Fault, FaultContext, Proof
from nemesis.targets import Target


@dataclass(frozen=True, kw_only=True)
class Fence(Fault):
    """The producer that had the transactional id before is fenced."""

    name = "fence"
    family = "Kafka"
    proved_by = "the transactional id had a producer epoch, and now has another one"
    target_family = "producer"
    takes_all_nodes = True
    momentary = True
    draw = Draw(clients_weight=2)
    takes_nodes_down = False

    def inject(self, context: FaultContext) -> None:
        assert isinstance(context.target, Target)
        name = context.target.name or ""
        _, context.notes["epoch"] = context.cluster.kafka.transaction(name)
        context.notes["new"] = context.cluster.kafka.fence(name)

    def verify_injected(self, context: FaultContext) -> Proof:
        before, now = context.notes["epoch"], context.notes["new"]
        # Without an earlier epoch there was no producer to fence. Epochs start at zero again with another producer
        # id.
        return Proof(before >= 0 and now != before, {"producer_epoch_before": before, "producer_epoch": now})


def fence(target: str, *, at: float = 0, after: str | None = None) -> Event:
    """A transactional id, such as ``"transaction:transfer-1"``, is taken over by another producer."""
    return Event.of(Fence(), target, at=at, after=after)
