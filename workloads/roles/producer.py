"""The producer: sends unique values to the logs in turn."""

from __future__ import annotations

import time
from itertools import cycle, islice

from workloads.roles.context import WorkerContext
from workloads.roles.sending import Sending

IN_FLIGHT = 500
"""Open sends at most: the memory of the client has no limit of its own."""

CHUNK = 100
"""Records at most whose invocations share one write to disk."""

TICK = 0.02
"""Seconds between chunks at a given rate."""

DRAIN_LIMIT = 10.0


def produce(context: WorkerContext) -> None:
    """Send until `context.stop` is set. Options: rate (records per second or None) and those of `Sending`."""
    rate: float | None = context.options["rate"]
    sending = Sending(context, context.records())
    if sending.connect():
        context.ready()
    logs = cycle(context.logs)
    pace = Pace(rate, time.monotonic()) if rate is not None else None
    last = float("-inf")
    while not context.stop.is_set():
        sending.collect(TICK)
        room = IN_FLIGHT - sending.in_flight
        now = time.monotonic()
        if pace is None:
            wanted = room if room >= CHUNK // 2 else 0
        else:
            wanted = min(room, pace.due(now)) if now - last >= TICK else 0
        if wanted > 0:
            chunk = list(islice(logs, min(wanted, CHUNK)))
            sending.send(chunk)
            last = now
            if pace is not None:
                pace.sent(len(chunk))
    sending.finish(DRAIN_LIMIT)


class Pace:
    """How many records are due at a rate. After an outage it makes up for one second at most."""

    def __init__(self, rate: float, now: float) -> None:
        self._rate = rate
        self._begin = now
        self._sent = 0

    def due(self, now: float) -> int:
        backlog = (now - self._begin) * self._rate - self._sent
        most = max(self._rate, 1.0)
        if backlog > most:
            self._begin += (backlog - most) / self._rate
            backlog = most
        return int(backlog)

    def sent(self, count: int) -> None:
        self._sent += count
