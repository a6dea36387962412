"""What can be done to a topic while clients use it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from nemesis.faults.fault import Fault, FaultContext, Proof
from nemesis.targets import Family
from nemesis.validation import count, number

LIMIT = 20.0
"""Seconds for all brokers to know."""

MOST = 1000
"""Partitions more at once, as many as a workload's topic may have."""


@dataclass(frozen=True, kw_only=True)
class RecreateTopic(Fault):
    """The topic is deleted and made anew: everything in it is gone, and its offsets begin again."""

    name: ClassVar[str] = "recreate-topic"
    strikes: ClassVar[Family] = "topic"
    together: ClassVar[bool] = True
    momentary: ClassVar[bool] = True
    down: ClassVar[bool] = False

    def inject(self, context: FaultContext) -> None:
        topic, _ = context.log
        context.notes["id"] = context.cluster.kafka.topic_id(topic)
        context.cluster.kafka.recreate(topic)

    def verify_injected(self, context: FaultContext) -> Proof:
        topic, _ = context.log
        kafka, before = context.cluster.kafka, context.notes["id"]
        context.until(lambda: kafka.topic_id(topic) not in ("", before), LIMIT)
        now = kafka.topic_id(topic)
        return Proof(now not in ("", before), {"topic": topic, "id_before": before, "id": now})


@dataclass(frozen=True, kw_only=True)
class AddPartitions(Fault):
    """count: how many more. They stay."""

    count: int = 1

    name: ClassVar[str] = "add-partitions"
    strikes: ClassVar[Family] = "topic"
    together: ClassVar[bool] = True
    momentary: ClassVar[bool] = True
    down: ClassVar[bool] = False

    def __post_init__(self) -> None:
        count("add-partitions count", self.count, most=MOST)

    def inject(self, context: FaultContext) -> None:
        topic, _ = context.log
        context.notes["before"] = context.cluster.kafka.partitions(topic)
        context.cluster.kafka.add_partitions(topic, context.notes["before"] + self.count)

    def verify_injected(self, context: FaultContext) -> Proof:
        topic, _ = context.log
        kafka, before = context.cluster.kafka, context.notes["before"]
        more = context.until(lambda: kafka.partitions(topic) == before + self.count, LIMIT)
        return Proof(more, {"topic": topic, "before": before, "partitions": kafka.partitions(topic)})


@dataclass(frozen=True, kw_only=True)
class DeleteRecords(Fault):
    """share: of a partition's log, from its beginning, 0 to 1."""

    share: float = 0.5

    name: ClassVar[str] = "delete-records"
    strikes: ClassVar[Family] = "partition"
    together: ClassVar[bool] = True
    momentary: ClassVar[bool] = True
    down: ClassVar[bool] = False

    def __post_init__(self) -> None:
        number("delete-records share", self.share, above=0, most=1)

    def inject(self, context: FaultContext) -> None:
        kafka, log = context.cluster.kafka, context.log
        start, end = kafka.ends(*log)
        before = start + round((end - start) * self.share)
        context.notes |= {"start": start, "before": before}
        kafka.delete_records(*log, before)

    def verify_injected(self, context: FaultContext) -> Proof:
        kafka, log, before = context.cluster.kafka, context.log, context.notes["before"]
        deleted = context.until(lambda: kafka.ends(*log)[0] >= before, LIMIT)
        evidence = {"start_before": context.notes["start"], "start": kafka.ends(*log)[0]}
        return Proof(deleted and before > context.notes["start"], evidence)
