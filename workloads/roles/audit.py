"""The auditor: once others have stopped, it reads everything that is committed, as a client without any state."""

from __future__ import annotations

import json
import time

from workloads.clients.leaders import Leaders
from workloads.clients.protocol import Consumer, Log
from workloads.clients.requests import EARLIEST
from workloads.roles.context import WorkerContext

LIMIT = 15.0
"""Seconds for everything: a process that takes longer to stop is killed."""

ANSWER_LIMIT = 3.0
"""Seconds for a leader to say where its log begins, and where it ends."""


def audit(context: WorkerContext) -> None:
    """Wait for `context.stop`, then read every log to its last stable offset with isolation.level=read_committed.

    One ``read`` operation per log: ok when its end was reached.
    """
    context.ready()
    context.stop.wait()
    deadline = time.monotonic() + LIMIT
    leaders = Leaders(context.brokers, context.topics, stop=context.gone)
    starts: dict[Log, int] = {}
    ends: dict[Log, int] = {}
    for log in context.logs:
        limit = max(min(ANSWER_LIMIT, deadline - time.monotonic()), 0.1)
        try:
            starts[log] = leaders.offset(log, at=EARLIEST, limit=limit)
            ends[log] = leaders.offset(log, committed=True, limit=limit)
        except TimeoutError:
            # Without a leader there is nothing to read; the final reads record that as a problem.
            context.counts["logs not audited"] += 1
    if ends:
        consumer = context.consumer({log: starts[log] for log in ends}, committed=True)
        _read(context, consumer, starts, ends, deadline)
        consumer.close()


def _read(
    context: WorkerContext, consumer: Consumer, starts: dict[Log, int], ends: dict[Log, int], deadline: float
) -> None:
    records, reads = context.records(), context.reads("read")
    begun = time.monotonic_ns()
    left = dict.fromkeys(ends)
    while left:
        for log in [log for log in left if consumer.positions[log] >= ends[log]]:
            del left[log]
        if not left or context.gone.is_set() or time.monotonic() > deadline:
            break
        consumer.only(tuple(left))
        invoked = time.monotonic_ns()
        polled = consumer.poll(0.2)
        records.polled(
            context.op(),
            polled,
            invoked=invoked,
            completed=time.monotonic_ns(),
            assignment=consumer.assignment,
            committed=True,
        )
        context.counts["polled"] += len(polled)
    for log, end in ends.items():
        error = (
            f"end not reached within {LIMIT:g} s, at offset {consumer.positions[log]}"
            if log in left
            else None
        )
        reads.record(
            context.op(), log, invoked=begun, completed=time.monotonic_ns(), start=starts[log], end=end, error=error,
            value=json.dumps({"committed": True}),
        )  # fmt: skip
