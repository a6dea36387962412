"""The session: one user who writes a record and then expects to read it, through changing clients."""

from __future__ import annotations

import time
from itertools import cycle

from workloads.clients.protocol import Log
from workloads.roles.context import WorkerContext
from workloads.roles.follower_racks import FollowerRacks
from workloads.roles.sending import Sending
from workloads.roles.session_reader import SessionReader

SEND_LIMIT = 10.0
"""Seconds until a session gives up a send."""

SEEN_LIMIT = 10.0
"""Seconds for which a session repeats its read until it has its own write."""

ROUNDS = 20
"""Reads before a session goes on with another consumer."""

PAUSE = 0.02
"""Seconds between rounds at least: sessions check an order, they are not meant as load."""

DRAIN_LIMIT = 5.0


def write_and_read(context: WorkerContext) -> None:
    """Write to a log, read it to its end, continue with the next log, until `context.stop` is set."""
    records = context.records()
    sending = Sending(context, records)
    reader = SessionReader(context, records, sending)
    if sending.connect():
        context.ready()
    for count, log in enumerate(cycle(context.logs), start=1):
        _write(context, sending, log)
        if context.stop.wait(PAUSE):
            break
        reader.read(log)
        if count % ROUNDS == 0:
            reader.renew()
    sending.finish(DRAIN_LIMIT)
    reader.close()


def write_read_and_move(context: WorkerContext) -> None:
    """Read a log; write to it and read it at once, until the write is there, several times; then go on with the next
    log by a new producer and a new consumer, until `context.stop` is set.

    Options: read_from ("leader" or "follower"), writes_per_client, first (number of the log to begin with), and those
    of `Sending` and `LostPositions`.
    """
    records, options = context.records(), context.options
    sending = Sending(context, records)
    racks = FollowerRacks(context) if options["read_from"] == "follower" else None
    reader = SessionReader(context, records, sending, racks=racks)
    if sending.connect():
        context.ready()
    first = options["first"] % len(context.logs)
    for log in cycle((*context.logs[first:], *context.logs[:first])):
        if context.stop.is_set() or not reader.move(log):
            break
        # The new consumer connects, which took up to 0.5 s: no measure of how late it would get the session's write.
        reader.read(log)
        for _ in range(options["writes_per_client"]):
            if context.stop.wait(PAUSE):
                break
            end = _write(context, sending, log)
            _read_own(context, reader, log, end)
        sending.replace()
        context.counts["moves"] += 1
    sending.finish(DRAIN_LIMIT)
    reader.close()


def _write(context: WorkerContext, sending: Sending, log: Log) -> int:
    """Send a record and wait for its acknowledgement. Returns the offset behind the last acknowledged one."""
    sending.send([log])
    deadline = time.monotonic() + SEND_LIMIT
    while sending.in_flight and time.monotonic() < deadline and not context.stop.is_set():
        sending.collect(0.1)
    if sending.in_flight and not context.stop.is_set():
        sending.drop()
    return sending.acknowledged_end(log)


def _read_own(context: WorkerContext, reader: SessionReader, log: Log, end: int) -> None:
    """Read, and again until the session has its own write, which ends at `end`."""
    deadline = time.monotonic() + SEEN_LIMIT
    reader.read(log)
    while reader.position(log) < end and time.monotonic() < deadline and not context.stop.wait(PAUSE):
        reader.read(log)
