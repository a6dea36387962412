"""Delete records: the beginning of a log is removed while clients use it."""

from __future__ import annotations

from dataclasses import dataclass

from nemesis.event import Event
from nemesis.fault import Fault, FaultContext, Proof
from nemesis.validation import number

LIMIT = 20.0
"""Seconds for the new log start to be known."""


@dataclass(frozen=True, kw_only=True)
class DeleteRecords(Fault):
    """share: of the partition's log that is removed, from its beginning; above 0, up to 1."""

    share: float = 0.5

    name = "delete-records"
    family = "Kafka"
    proved_by = "a higher log start offset"
    target_family = "partition"
    takes_all_nodes = True
    momentary = True
    takes_nodes_down = False

    def __post_init__(self) -> None:
        number("delete-records share", self.share, above=0, most=1)

    @property
    def removes_records(self) -> bool:
        return True

    def inject(self, context: FaultContext) -> None:
        kafka, log = context.cluster.kafka, context.log
        start, end = kafka.ends(*log)
        before = start + round((end - start) * self.share)
        context.notes |= {"start": start, "before": before}
        kafka.delete_records(*log, before)

    def verify_injected(self, context: FaultContext) -> Proof:
        kafka, log, before = context.cluster.kafka, context.log, context.notes["before"]
        is_deleted = context.wait_until(lambda: kafka.ends(*log)[0] >= before, LIMIT)
        topic, partition = log
        evidence = {"topic": topic, "partition": partition}
        evidence |= {"start_before": context.notes["start"], "before": before}
        evidence |= {"start": kafka.ends(*log)[0]}
        return Proof(is_deleted and before > context.notes["start"], evidence)


def delete_records(
    target: str = "partition", *, at: float = 0, after: str | None = None, share: float = 0.5
) -> Event:
    """That share of the partition's log is removed, from its beginning."""
    return Event.of(DeleteRecords(share=share), target, at=at, after=after)
