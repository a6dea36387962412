"""A session: one user who writes, and then wants to see what was written, whichever consumer reads."""

from __future__ import annotations

import time
from itertools import cycle

from workloads.clients.kafka_python import KafkaPythonConsumer
from workloads.clients.leaders import Leaders
from workloads.clients.protocol import Log
from workloads.recording import Reads, Records
from workloads.roles.context import WorkerContext
from workloads.roles.reader import starts
from workloads.roles.sending import Sending

SEND_LIMIT = 10.0
READ_LIMIT = 10.0
"""Seconds after which a session gives up on an operation."""

ROUNDS = 20
"""Reads before a session goes on with another consumer."""

PAUSE = 0.02
"""Seconds between rounds at least: a session shall be watched, not be the load."""

DRAIN_LIMIT = 5.0


def converse(job: WorkerContext) -> None:
    """Write to a log, read it to its end, go on with the next log; until told to stop."""
    records = job.records()
    sending = Sending(job, records)
    reader = Reader(job, records, sending)
    if sending.connect():
        job.ready()
    for count, log in enumerate(cycle(job.logs), start=1):
        sending.send([log])
        deadline = time.monotonic() + SEND_LIMIT
        while sending.in_flight and time.monotonic() < deadline and not job.stop.is_set():
            sending.collect(0.1)
        if sending.in_flight and not job.stop.is_set():
            sending.drop()
        if job.stop.wait(PAUSE):
            break
        reader.read(log)
        if count % ROUNDS == 0:
            reader.renew()
    sending.finish(DRAIN_LIMIT)
    reader.close()


class Reader:
    """Reads a log from where it last stopped to the end that its leader tells."""

    def __init__(self, job: WorkerContext, records: Records, sending: Sending) -> None:
        self._job = job
        self._records = records
        self._sending = sending
        self._reads: Reads = job.reads("read")
        self._leaders: Leaders = job.leaders()
        self._consumer = KafkaPythonConsumer(bootstrap=job.bootstrap, start=starts(job))

    def read(self, log: Log) -> None:
        """One read, ``ok`` when it reached the end. A read that was told to stop is not ``ok``."""
        job = self._job
        op, invoked, start = job.op(), time.monotonic_ns(), self._consumer.positions[log]
        deadline = time.monotonic() + READ_LIMIT
        end, error = self._end(log)
        self._consumer.only((log,))
        while end is not None and self._consumer.positions[log] < end:
            if job.stop.is_set() or time.monotonic() > deadline:
                why = "told to stop" if job.stop.is_set() else f"not there within {READ_LIMIT:g} s"
                error = f"{why}, at offset {self._consumer.positions[log]}"
                break
            asked = time.monotonic_ns()
            polled = self._consumer.poll(0.2)
            now = time.monotonic_ns()
            self._records.polled(
                op, polled, invoked=asked, completed=now, assignment=self._consumer.assignment
            )
            job.counts["polled"] += len(polled)
        self._reads.record(
            op, log, invoked=invoked, completed=time.monotonic_ns(), start=start, end=end, error=error
        )
        job.counts["reads" if error is None else "reads given up"] += 1

    def renew(self) -> None:
        """Go on with a fresh consumer at the same positions."""
        before = self._consumer
        before.close()
        self._consumer = KafkaPythonConsumer(
            bootstrap=self._job.bootstrap, start=before.positions, assignment=before.assignment + 1
        )

    def close(self) -> None:
        self._consumer.close()

    def _end(self, log: Log) -> tuple[int | None, str | None]:
        # What this session has seen proves that the epoch exists: an end from an older one would be the past.
        epoch = max(self._sending.leader_epoch(log), self._consumer.leader_epoch(log))
        try:
            return self._leaders.offset(log, epoch=epoch, limit=READ_LIMIT / 2), None
        except TimeoutError as error:
            return None, str(error)
