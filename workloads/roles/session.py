"""The session: one user who writes a record and then expects to read it, through changing consumers."""

from __future__ import annotations

import time
from itertools import cycle

from workloads.clients.leaders import Leaders
from workloads.clients.protocol import Log, LostPosition
from workloads.recording import Reads, Records
from workloads.roles.context import WorkerContext
from workloads.roles.lost_positions import LostPositions
from workloads.roles.reader import starts
from workloads.roles.sending import Sending

SEND_LIMIT = 10.0
READ_LIMIT = 10.0
"""Seconds until a session gives up a send or a read."""

ROUNDS = 20
"""Reads before a session goes on with another consumer."""

PAUSE = 0.02
"""Seconds between rounds at least: sessions check an order, they are not meant as load."""

DRAIN_LIMIT = 5.0


def write_and_read(context: WorkerContext) -> None:
    """Write to a log, read it to its end, continue with the next log, until `context.stop` is set."""
    records = context.records()
    sending = Sending(context, records)
    reader = Reader(context, records, sending)
    if sending.connect():
        context.ready()
    for count, log in enumerate(cycle(context.logs), start=1):
        sending.send([log])
        deadline = time.monotonic() + SEND_LIMIT
        while sending.in_flight and time.monotonic() < deadline and not context.stop.is_set():
            sending.collect(0.1)
        if sending.in_flight and not context.stop.is_set():
            sending.drop()
        if context.stop.wait(PAUSE):
            break
        reader.read(log)
        if count % ROUNDS == 0:
            reader.renew()
    sending.finish(DRAIN_LIMIT)
    reader.close()


class Reader:
    """Reads a log from its last position to the end that the leader reports."""

    def __init__(self, context: WorkerContext, records: Records, sending: Sending) -> None:
        self._context = context
        self._records = records
        self._sending = sending
        self._reads: Reads = context.reads("read")
        self._leaders: Leaders = context.leaders()
        self._consumer = context.consumer(starts(context))
        self._lost_positions = LostPositions(context, self._leaders)

    def read(self, log: Log) -> None:
        """One read, ``ok`` when it reached the end. A read that `context.stop` ended is not ``ok``."""
        context = self._context
        op, invoked, start = context.op(), time.monotonic_ns(), self._consumer.positions[log]
        deadline = time.monotonic() + READ_LIMIT
        end, error = self._end(log)
        self._consumer.only((log,))
        while end is not None and self._consumer.positions[log] < end:
            if context.stop.is_set() or time.monotonic() > deadline:
                why = "stopped" if context.stop.is_set() else f"end not reached within {READ_LIMIT:g} s"
                error = f"{why}, at offset {self._consumer.positions[log]}"
                break
            asked = time.monotonic_ns()
            polled = self._consumer.poll(0.2)
            now = time.monotonic_ns()
            self._records.polled(
                op, polled, invoked=asked, completed=now, assignment=self._consumer.assignment
            )
            context.counts["polled"] += len(polled)
            self._lost_positions.mend(self._consumer, self._consumer.lost())
        self._reads.record(
            op, log, invoked=invoked, completed=time.monotonic_ns(), start=start, end=end, error=error
        )
        context.counts["reads" if error is None else "reads given up"] += 1
        if end is not None and start > end:
            self._lost_positions.mend(self._consumer, [LostPosition(log, start)])

    def renew(self) -> None:
        """Continue with a new consumer at the same positions."""
        before = self._consumer
        before.close()
        self._consumer = self._context.consumer(before.positions, assignment=before.assignment + 1)

    def close(self) -> None:
        self._consumer.close()

    def _end(self, log: Log) -> tuple[int | None, str | None]:
        # The session has seen that this epoch exists. A leader of an older epoch would report an outdated end.
        epoch = max(self._sending.leader_epoch(log), self._consumer.leader_epoch(log))
        try:
            return self._leaders.offset(log, epoch=epoch, limit=READ_LIMIT / 2), None
        except TimeoutError as error:
            return None, str(error)
