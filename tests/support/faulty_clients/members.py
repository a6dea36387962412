"""Members of consumer groups with a defect, and what other programs do to a group. Each is the role of
`workloads.roles.member` with another `Membership`, in its worker process."""

from __future__ import annotations

from typing import Any

from kafka import KafkaAdminClient, OffsetAndMetadata, TopicPartition
from kafka.coordinator.assignors.abstract import ConsumerProtocolAssignment
from kafka.coordinator.assignors.range import RangePartitionAssignor
from kafka.errors import CoordinatorNotAvailableError
from tenacity import Retrying, retry_if_exception_type, stop_after_delay, wait_fixed

from workloads.clients.kafka_python import access
from workloads.clients.protocol import PolledRecords
from workloads.roles import member
from workloads.roles.context import WorkerContext
from workloads.roles.member import Membership

STEP = 10
"""Records by which a commit is wrong."""

FAR = 1_000_000
"""Records by which a position is above the end of its partition."""

PATIENCE = 20.0
"""Seconds for a coordinator to be there, which the first group of a cluster waits for."""

BUSY = 2.5
"""Seconds that a member works after each poll, so that it learns late that its group rebalances."""


class WrongPositions(Membership):
    """Commits beyond what it has polled and, the next time, less than it has committed."""

    step = STEP

    def commit(self) -> None:
        if (joined := self._member) is not None and joined.generation is not None and joined.positions:
            self.commit_positions(
                {log: max(offset + self.step, 0) for log, offset in joined.positions.items()}
            )
            self.step = -self.step


class ForeignPositions(Membership):
    """Its last commit has the positions of another, longer topic."""

    def leave(self, *, commits: bool = True) -> None:
        if commits and (joined := self._member) is not None:
            self.commit_positions({log: offset + FAR for log, offset in joined.positions.items()})
        super().leave(commits=commits)


class ResetFromOutside(Membership):
    """While the group is empty, another program sets its offsets back to the start."""

    def leave(self, *, commits: bool = True) -> None:
        was_in_group = self._member is not None
        super().leave(commits=commits)
        if was_in_group and not self._context.stop.is_set():
            admin = KafkaAdminClient(**access(self._context.bootstrap))
            start = {TopicPartition(*log): OffsetAndMetadata(0, "", -1) for log in self._context.logs}
            ask = Retrying(
                retry=retry_if_exception_type(CoordinatorNotAvailableError), stop=stop_after_delay(PATIENCE),
                wait=wait_fixed(0.2), reraise=True,
            )  # fmt: skip
            ask(admin.alter_group_offsets, self._group, start)
            admin.close()


class Busy(Membership):
    """Works for long after each poll."""

    def poll(self, timeout: float) -> PolledRecords:
        polled = super().poll(timeout)
        self._context.stop.wait(BUSY)
        return polled


class EverythingToEveryone(RangePartitionAssignor):  # type: ignore[misc]
    """A faulty assignor."""

    @classmethod
    def assign(cls, cluster: Any, members: Any) -> dict[str, Any]:
        return {
            each.member_id: ConsumerProtocolAssignment(
                cls.version,
                [
                    (topic, sorted(cluster.partitions_for_topic(topic) or ()))
                    for topic in each.metadata.topics
                ],
                b"",
            )
            for each in members
        }


def commit_wrong_positions(context: WorkerContext) -> None:
    _consume(context, WrongPositions)


def commit_positions_of_another_topic(context: WorkerContext) -> None:
    _consume(context, ForeignPositions)


def join_again_after_a_reset(context: WorkerContext) -> None:
    _consume(context, ResetFromOutside)


def work_for_long(context: WorkerContext) -> None:
    _consume(context, Busy)


def assign_everything_to_everyone(context: WorkerContext) -> None:
    RangePartitionAssignor.assign = EverythingToEveryone.assign
    member.consume(context)


def _consume(context: WorkerContext, membership: type[Membership]) -> None:
    member.Membership = membership  # type: ignore[misc]
    member.consume(context)
