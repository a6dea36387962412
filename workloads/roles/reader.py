"""The reader: polls every log from its start."""

from __future__ import annotations

import time

from workloads.clients.protocol import Log
from workloads.clients.requests import EARLIEST
from workloads.roles.context import WorkerContext
from workloads.roles.lost_positions import LostPositions

START_LIMIT = 60.0
"""Seconds for the leaders to answer where their logs start."""


def starts(context: WorkerContext) -> dict[Log, int]:
    """The first offset of every log. Raises TimeoutError."""
    leaders = context.leaders()
    return {log: leaders.offset(log, at=EARLIEST, limit=START_LIMIT) for log in context.logs}


def read(context: WorkerContext) -> None:
    """Poll all logs until `context.stop` is set. Options: committed (read with isolation.level=read_committed), and
    those of `LostPositions`."""
    records, committed = context.records(), context.options.get("committed", False)
    consumer = context.consumer(starts(context), committed=committed)
    lost_positions = LostPositions(context, context.leaders())
    context.ready()
    while not context.stop.is_set():
        invoked = time.monotonic_ns()
        polled = consumer.poll(0.2)
        if polled:
            now = time.monotonic_ns()
            records.polled(
                context.op(),
                polled,
                invoked=invoked,
                completed=now,
                assignment=consumer.assignment,
                committed=committed,
            )
            context.counts["polled"] += len(polled)
        lost_positions.mend(consumer, consumer.lost())
    context.counts["assignments"] = consumer.assignment + 1
    consumer.close()
