"""Recreate topic: the topic is deleted and created again while clients use it."""

from __future__ import annotations

from dataclasses import dataclass

from nemesis.event import Event
from nemesis.fault import Fault, FaultContext, Proof

LIMIT = 20.0
"""Seconds for all brokers to know the new topic."""


@dataclass(frozen=True, kw_only=True)
class RecreateTopic(Fault):
    """All its records are gone, and its offsets start at zero."""

    name = "recreate-topic"
    family = "Kafka"
    proved_by = "all brokers report another topic id"
    target_family = "topic"
    takes_all_nodes = True
    momentary = True
    takes_nodes_down = False

    @property
    def removes_records(self) -> bool:
        return True

    def inject(self, context: FaultContext) -> None:
        topic, _ = context.log
        context.notes["id"] = context.cluster.kafka.topic_id(topic)
        context.cluster.kafka.recreate(topic)

    def verify_injected(self, context: FaultContext) -> Proof:
        topic, _ = context.log
        kafka, before = context.cluster.kafka, context.notes["id"]
        context.wait_until(lambda: kafka.topic_id(topic) not in ("", before), LIMIT)
        now = kafka.topic_id(topic)
        return Proof(now not in ("", before), {"topic": topic, "id_before": before, "id": now})


def recreate_topic(target: str = "topic", *, at: float = 0, after: str | None = None) -> Event:
    """The topic is deleted and created again, empty."""
    return Event.of(RecreateTopic(), target, at=at, after=after)
