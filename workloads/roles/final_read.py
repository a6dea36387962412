"""The final read: everything once more, after healing, by a client that has seen nothing before."""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import Any

from workloads.clients.kafka_python import KafkaPythonConsumer
from workloads.clients.protocol import Log
from workloads.roles.context import WorkerContext

Range = tuple[int, int]
"""First offset and end (exclusive)."""


def ranges(ends: Mapping[str, Mapping[str, Any]]) -> dict[Log, Range]:
    """From JSON, where partitions are text."""
    return {
        (topic, int(partition)): (start, end)
        for topic, partitions in ends.items()
        for partition, (start, end) in partitions.items()
    }


def read_finally(job: WorkerContext) -> None:
    """Read given ranges. Options: ends ({topic: {partition: [start, end]}}) and limit in seconds.

    One ``final-read`` operation per log: ok when its end was reached, info when it was not.
    """
    wanted = ranges(job.options["ends"])
    limit: float = job.options["limit"]
    records, reads = job.records(), job.reads("final-read")
    consumer = KafkaPythonConsumer(bootstrap=job.bootstrap, start={log: at[0] for log, at in wanted.items()})
    job.ready()
    begun = time.monotonic_ns()
    ops = {log: job.op() for log in wanted}

    def record(log: Log, error: str | None = None) -> None:
        start, end = wanted[log]
        now = time.monotonic_ns()
        reads.record(ops.pop(log), log, invoked=begun, completed=now, start=start, end=end, error=error)
        job.counts["final reads" if error is None else "final reads given up"] += 1

    while ops:
        for log in [log for log in ops if consumer.positions[log] >= wanted[log][1]]:
            record(log)
        if not ops or job.stop.is_set() or time.monotonic_ns() - begun > limit * 1e9:
            break
        consumer.only(tuple(ops))
        invoked = time.monotonic_ns()
        polled = consumer.poll(0.2)
        now = time.monotonic_ns()
        for log in {each.log for each in polled}:
            records.polled(
                ops[log],
                [each for each in polled if each.log == log],
                invoked=invoked,
                completed=now,
                assignment=consumer.assignment,
                final=True,
            )
        job.counts["polled"] += len(polled)
    why = "told to stop" if job.stop.is_set() else f"not there within {limit:g} s"
    for log in list(ops):
        record(log, f"{why}, at offset {consumer.positions[log]}")
    consumer.close()
