"""The producer: sends unique values to the logs in turn."""

from __future__ import annotations

import time
from itertools import cycle, islice
from math import ceil

from workloads.roles.context import WorkerContext
from workloads.roles.pace import Pace
from workloads.roles.sending import Sending

IN_FLIGHT = 500
"""Open sends at most: the memory of the client has no limit of its own."""

CHUNK = 100
"""Records at most whose invocations share one write to disk."""

TICK = 0.02
"""Seconds between chunks at a given rate."""

PATIENCE = 0.2
"""Seconds for which open sends have room at a given rate: an acknowledgement takes this long on a busy machine."""

OPEN_BYTES = 128 << 20
"""Of the values of these sends, beyond `IN_FLIGHT`."""

DRAIN_LIMIT = 10.0


def produce(context: WorkerContext) -> None:
    """Send until `context.stop` is set. Options: rate (records per second or None), topic (its name in the workload,
    as `WorkerContext.logs_of` has it; if absent, all topics in turn), and those of `Sending`."""
    rate: float | None = context.options["rate"]
    sending = Sending(context, context.records())
    if sending.connect():
        context.ready()
    logs = cycle(context.logs_of(context.options["topic"]) if "topic" in context.options else context.logs)
    pace = Pace(rate, time.monotonic()) if rate is not None else None
    chunk, in_flight = limits(rate, context.options["record_size"])
    last = float("-inf")
    while not context.stop.is_set():
        sending.collect(TICK)
        room = in_flight - sending.in_flight
        now = time.monotonic()
        if pace is None:
            wanted = room if room >= chunk // 2 else 0
        else:
            wanted = min(room, pace.due(now)) if now - last >= TICK else 0
            context.counts["skipped"] = int(pace.skipped)
        if wanted > 0:
            count = min(wanted, chunk)
            sending.send([*islice(logs, count)], () if pace is None else pace.take(count))
            last = now
    sending.finish(DRAIN_LIMIT)


def limits(rate: float | None, record_size: int) -> tuple[int, int]:
    """Records of one chunk, and open sends, that a rate needs: a chunk that is late has to make up for two."""
    if rate is None:
        return CHUNK, IN_FLIGHT
    in_flight = min(ceil(rate * PATIENCE), OPEN_BYTES // max(record_size, 1))
    return max(CHUNK, ceil(rate * TICK * 2)), max(IN_FLIGHT, in_flight)
