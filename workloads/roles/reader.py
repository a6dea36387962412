"""The reader: everything, from the start of every log."""

from __future__ import annotations

import time

from workloads.clients.kafka_python import KafkaPythonConsumer
from workloads.clients.protocol import Log
from workloads.clients.requests import EARLIEST
from workloads.roles.context import WorkerContext

START_LIMIT = 60.0
"""Seconds for leaders to tell where their logs start."""


def starts(job: WorkerContext) -> dict[Log, int]:
    """The first offset of every log. Raises TimeoutError."""
    leaders = job.leaders()
    return {log: leaders.offset(log, at=EARLIEST, limit=START_LIMIT) for log in job.logs}


def read(job: WorkerContext) -> None:
    """Poll all logs until told to stop."""
    records = job.records()
    consumer = KafkaPythonConsumer(bootstrap=job.bootstrap, start=starts(job))
    job.ready()
    while not job.stop.is_set():
        invoked = time.monotonic_ns()
        polled = consumer.poll(0.2)
        if polled:
            now = time.monotonic_ns()
            records.polled(job.op(), polled, invoked=invoked, completed=now, assignment=consumer.assignment)
            job.counts["polled"] += len(polled)
    job.counts["assignments"] = consumer.assignment + 1
    consumer.close()
