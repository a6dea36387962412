"""How a session reads: from where it stopped to the end of a log, as the leader or as a follower reports it."""

from __future__ import annotations

import json
import time

from workloads.clients.leaders import Leaders
from workloads.clients.protocol import Consumer, Log, LostPosition, ReportedEnd
from workloads.recording import Reads, Records
from workloads.roles.context import WorkerContext
from workloads.roles.follower_racks import FollowerRacks
from workloads.roles.lost_positions import LostPositions
from workloads.roles.reader import starts
from workloads.roles.sending import Sending

READ_LIMIT = 10.0
"""Seconds until a session gives up a read."""


class SessionReader:
    """The reads of one session, through one consumer after another.

    racks  chooses the rack of each consumer, so that a follower serves it; None: it reads from leaders.
    """

    def __init__(
        self,
        context: WorkerContext,
        records: Records,
        sending: Sending,
        *,
        racks: FollowerRacks | None = None,
    ) -> None:
        self._context = context
        self._records = records
        self._sending = sending
        self._racks = racks
        self._reads: Reads = context.reads("read")
        self._leaders: Leaders = context.leaders()
        self._positions = starts(context)
        self._consumer: Consumer = context.consumer(self._positions)
        self._lost_positions = LostPositions(context, self._leaders)

    def position(self, log: Log) -> int:
        """The next offset to read."""
        return self._consumer.positions[log]

    def read(self, log: Log) -> None:
        """One read, ``ok`` when it reached the end. A read that `context.stop` ended is not ``ok``."""
        context, consumer = self._context, self._consumer
        op, invoked, start = context.op(), time.monotonic_ns(), consumer.positions[log]
        deadline = time.monotonic() + READ_LIMIT
        reported: ReportedEnd | None = None
        end, error = (None, None) if self._racks is not None else self._leaders_end(log)
        consumer.only((log,))
        while error is None and (end is None or consumer.positions[log] < end):
            if context.stop.is_set() or time.monotonic() > deadline:
                aim = "end not reached" if end is not None else "no broker reported an end"
                why = "stopped" if context.stop.is_set() else f"{aim} within {READ_LIMIT:g} s"
                error = f"{why}, at offset {consumer.positions[log]}"
                break
            asked = time.monotonic_ns()
            polled = consumer.poll(0.2)
            now = time.monotonic_ns()
            self._records.polled(op, polled, invoked=asked, completed=now, assignment=consumer.assignment)
            context.counts["polled"] += len(polled)
            self._lost_positions.mend(consumer, consumer.lost())
            if end is None and (reported := consumer.reported_end(log, since=invoked)) is not None:
                end = reported.offset
        self._reads.record(
            op, log, invoked=invoked, completed=time.monotonic_ns(), start=start, end=end, error=error,
            value=None if reported is None else json.dumps({"node": reported.node}),
        )  # fmt: skip
        context.counts["reads" if error is None else "reads given up"] += 1
        if self._racks is None and end is not None and start > end:
            self._lost_positions.mend(consumer, [LostPosition(log, start)])

    def renew(self) -> None:
        """Continue with a new consumer at the same positions."""
        self._continue_with(tuple(self._consumer.positions), rack=None)

    def move(self, log: Log) -> bool:
        """Continue with a new consumer, of this log only. False when `context.stop` is set before."""
        rack = None
        if self._racks is not None and (rack := self._racks.choose(log)) is None:
            return False
        self._continue_with((log,), rack=rack)
        return True

    def close(self) -> None:
        self._consumer.close()

    def _continue_with(self, logs: tuple[Log, ...], *, rack: str | None) -> None:
        before = self._consumer
        before.close()
        self._positions = {**self._positions, **before.positions}
        self._consumer = self._context.consumer(
            {log: self._positions[log] for log in logs}, assignment=before.assignment + 1, rack=rack
        )

    def _leaders_end(self, log: Log) -> tuple[int | None, str | None]:
        # The session has seen that this epoch exists. A leader of an older epoch would report an outdated end.
        epoch, least = self._sending.leader_epoch(log), 0
        if epoch < 0:
            # It may be the session's own acknowledgement that an outdated end lacks. What it has seen shows that.
            least = max(self._sending.acknowledged_end(log), self._consumer.positions[log])
        epoch = max(epoch, self._consumer.leader_epoch(log))
        try:
            return self._leaders.offset(log, epoch=epoch, least=least, limit=READ_LIMIT / 2), None
        except TimeoutError as error:
            return None, str(error)
