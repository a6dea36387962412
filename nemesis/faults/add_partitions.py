"""Add partitions: the topic grows while clients use it."""

from __future__ import annotations

from dataclasses import dataclass

from nemesis.event import Event
from nemesis.fault import Fault, FaultContext, Proof
from nemesis.validation import count as check_count

LIMIT = 20.0
"""Seconds for all brokers to know the new partitions."""

MOST = 1000
"""New partitions at once; the topic of a workload cannot have more either."""


@dataclass(frozen=True, kw_only=True)
class AddPartitions(Fault):
    """count: number of new partitions. They stay."""

    count: int = 1

    name = "add-partitions"
    family = "Kafka"
    proved_by = "all brokers report the new number of partitions"
    target_family = "topic"
    takes_all_nodes = True
    needs_all_nodes = True
    momentary = True
    takes_nodes_down = False

    def __post_init__(self) -> None:
        check_count("add-partitions count", self.count, most=MOST)

    def inject(self, context: FaultContext) -> None:
        topic, _ = context.log
        context.notes["before"] = context.cluster.kafka.partitions(topic)
        context.cluster.kafka.add_partitions(topic, context.notes["before"] + self.count)

    def verify_injected(self, context: FaultContext) -> Proof:
        topic, _ = context.log
        kafka, before = context.cluster.kafka, context.notes["before"]
        is_known = context.wait_until(lambda: kafka.partitions(topic) == before + self.count, LIMIT)
        return Proof(is_known, {"topic": topic, "before": before, "partitions": kafka.partitions(topic)})


def add_partitions(
    target: str = "topic", *, at: float = 0, after: str | None = None, count: int = 1
) -> Event:
    """The topic gets ``count`` more partitions, which stay. Clients of the workload learn of them within seconds."""
    return Event.of(AddPartitions(count=count), target, at=at, after=after)
