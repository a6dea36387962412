"""What can be done to a topic while clients use it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from nemesis.faults.checked import count, number
from nemesis.faults.fault import Fault, Proof, Strike
from nemesis.targets import Family

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

    def inject(self, strike: Strike) -> None:
        topic, _ = strike.log
        strike.notes["id"] = strike.cluster.kafka.topic_id(topic)
        strike.cluster.kafka.recreate(topic)

    def verify_injected(self, strike: Strike) -> Proof:
        topic, _ = strike.log
        kafka, before = strike.cluster.kafka, strike.notes["id"]
        strike.until(lambda: kafka.topic_id(topic) not in ("", before), LIMIT)
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

    def inject(self, strike: Strike) -> None:
        topic, _ = strike.log
        strike.notes["before"] = strike.cluster.kafka.partitions(topic)
        strike.cluster.kafka.add_partitions(topic, strike.notes["before"] + self.count)

    def verify_injected(self, strike: Strike) -> Proof:
        topic, _ = strike.log
        kafka, before = strike.cluster.kafka, strike.notes["before"]
        more = strike.until(lambda: kafka.partitions(topic) == before + self.count, LIMIT)
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

    def inject(self, strike: Strike) -> None:
        kafka, log = strike.cluster.kafka, strike.log
        start, end = kafka.ends(*log)
        before = start + round((end - start) * self.share)
        strike.notes |= {"start": start, "before": before}
        kafka.delete_records(*log, before)

    def verify_injected(self, strike: Strike) -> Proof:
        kafka, log, before = strike.cluster.kafka, strike.log, strike.notes["before"]
        deleted = strike.until(lambda: kafka.ends(*log)[0] >= before, LIMIT)
        evidence = {"start_before": strike.notes["start"], "start": kafka.ends(*log)[0]}
        return Proof(deleted and before > strike.notes["start"], evidence)
