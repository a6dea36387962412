"""The final read: everything once more after the cluster has recovered, by a client without any state."""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import Any

from workloads.clients.leaders import Leaders
from workloads.clients.protocol import Consumer, Log, PolledRecords
from workloads.clients.requests import EARLIEST
from workloads.roles.context import WorkerContext

ANSWER_LIMIT = 1.0
"""Seconds for a leader to say where its log begins now."""

Range = tuple[int, int]
"""First offset and end (exclusive)."""


def ranges(ends: Mapping[str, Mapping[str, Any]]) -> dict[Log, Range]:
    """From JSON, where partitions are text."""
    return {
        (topic, int(partition)): (start, end)
        for topic, partitions in ends.items()
        for partition, (start, end) in partitions.items()
    }


def read_finally(context: WorkerContext) -> None:
    """Read given ranges. Options: ends ({topic: {partition: [start, end]}}) and limit in seconds.

    One ``final-read`` operation per log: ok when its end was reached, info when it was not. Where retention removes
    records of the range meanwhile, it goes on at the new start of the log, which it records.
    """
    wanted = ranges(context.options["ends"])
    limit: float = context.options["limit"]
    records, reads = context.records(), context.reads("final-read")
    consumer, leaders = context.consumer({log: at[0] for log, at in wanted.items()}), context.leaders()
    context.ready()
    begun = time.monotonic_ns()
    ops = {log: context.op() for log in wanted}

    def record(log: Log, error: str | None = None) -> None:
        start, end = wanted[log]
        now = time.monotonic_ns()
        reads.record(ops.pop(log), log, invoked=begun, completed=now, start=start, end=end, error=error)
        context.counts["final reads" if error is None else "final reads given up"] += 1

    while ops:
        for log in [log for log in ops if consumer.positions[log] >= wanted[log][1]]:
            record(log)
        if not ops or context.stop.is_set() or time.monotonic_ns() - begun > limit * 1e9:
            break
        consumer.only(tuple(ops))
        invoked = time.monotonic_ns()
        polled = consumer.poll(0.2)
        now = time.monotonic_ns()
        for batch in polled.batches:
            records.polled(
                ops[batch.log],
                PolledRecords([batch]),
                invoked=invoked,
                completed=now,
                assignment=consumer.assignment,
                final=True,
            )
        context.counts["polled"] += len(polled)
        for log, start in _moved_starts(consumer, leaders).items():
            consumer.seek(log, start)
            wanted[log] = (start, wanted[log][1])
    why = "stopped" if context.stop.is_set() else f"end not reached within {limit:g} s"
    for log in list(ops):
        record(log, f"{why}, at offset {consumer.positions[log]}")
    consumer.close()


def _moved_starts(consumer: Consumer, leaders: Leaders) -> dict[Log, int]:
    """The first offsets of logs of which brokers refuse the position, where that is lower."""
    starts: dict[Log, int] = {}
    for lost in consumer.lost():
        if lost.divergence is not None:
            continue
        try:
            start = leaders.offset(
                lost.log, at=EARLIEST, epoch=consumer.leader_epoch(lost.log), limit=ANSWER_LIMIT
            )
        except TimeoutError:
            continue
        if start > lost.position:
            starts[lost.log] = start
    return starts
