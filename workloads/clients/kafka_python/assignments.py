"""What happens to the partitions of a member: when it gets them, where it begins to read, when it gives them up.

kafka-python calls its listener on its IO thread, before the position of a new partition is known. The position is
that of the library's first seek, which is either to the committed offset, or to where ``auto_offset_reset`` says.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Collection
from typing import Any, Literal

from kafka import ConsumerRebalanceListener

from workloads.clients.protocol import Log, MemberEvent


class Assignments(ConsumerRebalanceListener):  # type: ignore[misc]
    """The listener of one KafkaConsumer. Pass it to `subscribe`.

    number  grows with each assignment of a partition, and each position that the library sets anew.
    """

    def __init__(self, consumer: Any, number: int) -> None:
        self.number = number
        self._coordinator, self._subscription = consumer._coordinator, consumer._subscription
        self._lock = threading.RLock()
        self._events: list[MemberEvent] = []
        self._unread: dict[Log, tuple[int, int | None]] = {}
        """Time and generation of assignments whose first position is not known yet."""
        self._owned: dict[Log, int | None] = {}
        """Generation of the assignments that are in force."""
        self._is_over = False
        self._seek, self._subscription.seek = self._subscription.seek, self._sought
        self._reset, self._coordinator.reset_generation = self._coordinator.reset_generation, self._outdated

    @property
    def owned(self) -> frozenset[Log]:
        with self._lock:
            return frozenset(self._owned)

    def take(self) -> list[MemberEvent]:
        """The events since the last call. An assignment is one of them once its first position is known."""
        with self._lock:
            events, self._events = self._events, []
            return events

    def end(self) -> None:
        """Count what is still owned as lost. Later calls of the library, whose close() may hang, change nothing."""
        with self._lock:
            self._give_up("lost", tuple(self._owned))
            self._is_over = True

    def on_partitions_assigned(self, assigned: Collection[Any]) -> None:
        generation = self._coordinator.group_metadata().generation_id
        with self._lock:
            if self._is_over:
                return
            self.number += 1
            for partition in assigned:
                log = (partition.topic, partition.partition)
                self._unread[log] = time.monotonic_ns(), generation
                self._owned[log] = generation
                self._forget_position(partition)

    def on_partitions_revoked(self, revoked: Collection[Any]) -> None:
        self._give_up("revoked", [(each.topic, each.partition) for each in revoked])

    def on_partitions_lost(self, lost: Collection[Any]) -> None:
        self._give_up("lost", [(each.topic, each.partition) for each in lost])

    def _give_up(self, event: Literal["revoked", "lost"], logs: Collection[Log]) -> None:
        with self._lock:
            if self._is_over:
                return
            now = time.monotonic_ns()
            for log in logs:
                if log in self._unread:
                    at, generation = self._unread.pop(log)
                    self._events.append(MemberEvent("assigned", log, at, generation))
                if log in self._owned:
                    self._events.append(MemberEvent(event, log, now, self._owned.pop(log)))

    def _forget_position(self, partition: Any) -> None:
        """Let the library ask for the committed offset, as Java's consumer does after each rebalance.

        kafka-python keeps the position of a partition that it had before. If it missed a generation, another member
        has read further meanwhile, and the old position would repeat records and commit a lower offset.
        """
        state = self._subscription.assignment.get(partition)
        if state is not None and state.has_valid_position:
            state.reset_strategy = None
            state._position = None
            state.drop_pending_record_batch = True
            state._awaiting_validation = False

    def _sought(self, partition: Any, offset: Any) -> None:
        """The library sets a position: the first of an assignment, or one that replaces a lost one."""
        self._seek(partition, offset)
        log, start = (partition.topic, partition.partition), getattr(offset, "offset", offset)
        with self._lock:
            if self._is_over or log not in self._owned:
                return
            if log in self._unread:
                at, generation = self._unread.pop(log)
            else:
                # The position was not in the log any more. In the history, this is where a new assignment begins.
                self.number += 1
                at, generation = time.monotonic_ns(), self._owned[log]
            self._events.append(MemberEvent("assigned", log, at, generation, start))

    def _outdated(self, *args: Any, **options: Any) -> None:
        """The coordinator does not know the member any more, so that others may have its partitions.

        kafka-python notices that before it asks to join. When it learns of it by the answer to that request, it
        joins again as another member and keeps partitions and positions.
        """
        self._reset(*args, **options)
        if self._coordinator.rejoining and (lost := self._subscription.assigned_partitions()):
            self.on_partitions_lost(lost)
            self._subscription.assign_from_subscribed([])


def go_on_joining(consumer: Any) -> None:
    """Let the next poll of a KafkaConsumer wait for the join that the one before left under way.

    Where new partitions were the reason to join, the library forgets it with the answer of the coordinator: if a poll
    ended at that moment, the next ones would not join, and nobody would send heartbeats.
    """
    coordinator = consumer._coordinator
    if coordinator._join_task is not None:
        coordinator.request_rejoin()
