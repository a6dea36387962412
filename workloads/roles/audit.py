"""The auditor: once others have stopped, it reads everything that is committed, as a client without any state."""

from __future__ import annotations

import time

from workloads.clients.leaders import Leaders
from workloads.clients.protocol import Log
from workloads.clients.requests import EARLIEST
from workloads.roles.context import WorkerContext
from workloads.roles.snapshots import ANSWER_LIMIT, Snapshots

LIMIT = 15.0
"""Seconds for everything: a process that takes longer to stop is killed."""


def audit(context: WorkerContext) -> None:
    """Wait for `context.stop`, then take one snapshot from the start of every log, see `Snapshots`."""
    context.ready()
    context.stop.wait()
    deadline = time.monotonic() + LIMIT
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
