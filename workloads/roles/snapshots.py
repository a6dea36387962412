"""Snapshots: all logs up to their last stable offsets at one time, with isolation.level=read_committed.

Kafka has no snapshot of several partitions: the leaders of the logs are asked one after another. So a snapshot may
have one record of a transaction and not another, which lies above the position that it has in that log.

A reader takes one after another while others write. An auditor takes one once they have stopped.
"""

from __future__ import annotations

import json
import time
from collections.abc import Mapping
from threading import Event

from workloads.clients.leaders import Leaders
from workloads.clients.protocol import Log, LostPosition
from workloads.clients.requests import EARLIEST
from workloads.roles.context import WorkerContext
from workloads.roles.reader import LostPositions, poll, starts

SNAPSHOT_LIMIT = 10.0
"""Seconds until a snapshot is given up. The next one goes on where it ended."""

AUDIT_LIMIT = 15.0
"""Seconds for everything that an auditor reads: a process that takes longer to stop is killed."""

ANSWER_LIMIT = 3.0
"""Seconds for a leader to report where its log ends."""


def take_snapshots(context: WorkerContext) -> None:
    """Take a snapshot every `interval` seconds until `context.stop` is set. Options: interval, and those of
    `LostPositions`."""
    snapshots = Snapshots(context, starts(context), leaders=context.leaders(), stop=context.stop)
    context.ready()
    while not context.stop.wait(context.options["interval"]):
        snapshots.take(SNAPSHOT_LIMIT)
    snapshots.close()


def audit(context: WorkerContext) -> None:
    """Wait for `context.stop`, then take one snapshot from the start of every log, as a client without any state."""
    context.ready()
    context.stop.wait()
    deadline = time.monotonic() + AUDIT_LIMIT
    leaders = Leaders(context.brokers, context.topics, stop=context.gone)
    starts: dict[Log, int] = {}
    for log in context.logs:
        limit = max(min(ANSWER_LIMIT, deadline - time.monotonic()), 0.1)
        try:
            starts[log] = leaders.offset(log, at=EARLIEST, limit=limit)
        except TimeoutError:
            # Without a leader there is nothing to read; the final reads record that as a problem.
            context.counts["logs not audited"] += 1
    if starts:
        snapshots = Snapshots(context, starts, leaders=leaders, stop=context.gone)
        snapshots.take(deadline - time.monotonic())
        snapshots.close()


class Snapshots:
    """The snapshots of one process. Each goes on where the one before it ended.

    starts  where to begin, of the logs to read.
    stop    ends a snapshot early when set.
    """

    def __init__(
        self, context: WorkerContext, starts: Mapping[Log, int], *, leaders: Leaders, stop: Event
    ) -> None:
        self._context, self._leaders, self._stop = context, leaders, stop
        self._reads = context.reads("read")
        self._consumer = context.consumer(starts, committed=True)
        self._lost_positions = LostPositions(context, leaders)
        self._taken = 0

    def take(self, limit: float) -> bool:
        """One snapshot, within `limit` seconds: a ``read`` operation per log, ok when its end was reached. Whether
        all were."""
        context, consumer = self._context, self._consumer
        begun, deadline = time.monotonic_ns(), time.monotonic() + limit
        starts = dict(consumer.positions)
        ends: dict[Log, int] = {}
        errors: dict[Log, str] = {}
        for log in starts:
            try:
                ends[log] = self._end(log, max(min(ANSWER_LIMIT, deadline - time.monotonic()), 0.1))
            except TimeoutError as error:
                errors[log] = str(error)
        left = self._read(ends, deadline)
        why = "stopped" if self._stop.is_set() else f"end not reached within {limit:g} s"
        errors |= {log: f"{why}, at offset {consumer.positions[log]}" for log in left}
        value = json.dumps({"committed": True, "snapshot": self._taken})
        self._taken += 1
        for log, start in starts.items():
            self._reads.record(
                context.op(), log, invoked=begun, completed=time.monotonic_ns(), start=start, end=ends.get(log),
                error=errors.get(log), value=value,
            )  # fmt: skip
        self._lost_positions.mend(
            consumer,
            [LostPosition(log, start) for log, start in starts.items() if start > ends.get(log, start)],
        )
        context.counts["snapshots given up" if errors else "snapshots"] += 1
        return not errors

    def close(self) -> None:
        self._consumer.close()

    def _end(self, log: Log, limit: float) -> int:
        # A leader that was replaced reports an outdated end, see `workloads.roles.session`.
        epoch = self._consumer.leader_epoch(log)
        least = self._consumer.positions[log] if epoch < 0 else 0
        return self._leaders.offset(log, epoch=epoch, least=least, committed=True, limit=limit)

    def _read(self, ends: Mapping[Log, int], deadline: float) -> list[Log]:
        """Poll until all ends are reached. Returns the logs of which they are not."""
        consumer = self._consumer
        while left := [log for log in ends if consumer.positions[log] < ends[log]]:
            if self._stop.is_set() or time.monotonic() > deadline:
                break
            consumer.only(tuple(left))
            poll(self._context, consumer, committed=True)
            self._lost_positions.mend(consumer, consumer.lost())
        return left
