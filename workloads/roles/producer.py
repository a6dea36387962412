"""The producer: sends unique values to the logs."""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Sequence
from itertools import islice
from math import ceil

from workloads.clients.protocol import Log
from workloads.keys import Keyed
from workloads.load import drawn_logs, highest, largest
from workloads.roles.context import WorkerContext
from workloads.roles.pace import Paces
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
    """Send until `context.stop` is set.

    Options: rate (see `workloads.load.Rate`), topic (its name in the workload, as `WorkerContext.logs_of` has it; if
    absent, all topics), skew (of the load on its partitions, see `workloads.load.shares`; if absent, they get records
    in turn), and those of `Sending`.
    """
    send_until_stopped(context, Sending(context, context.records()))


def send_until_stopped(
    context: WorkerContext, sending: Sending, keyed: Callable[[Sequence[Log]], Sequence[Keyed]] = lambda _: ()
) -> None:
    """keyed: gives the keys of sends to these logs; none by default. Options as for `produce`."""
    options = context.options
    if sending.connect():
        context.ready()
    logs = drawn_logs(
        context.logs_of(options["topic"]) if "topic" in options else context.logs,
        options.get("skew", 0),
        random.Random(f"{context.run}/{context.process}/logs"),
    )
    paces = Paces(context, options["rate"])
    chunk, in_flight = limits(highest(options["rate"]), largest(options["record_size"]))
    last = float("-inf")
    while not context.stop.is_set():
        sending.collect(TICK)
        room = in_flight - sending.in_flight
        now, due = time.monotonic(), paces.due()
        is_time = room >= chunk // 2 if due is None else now - last >= TICK
        wanted = room if due is None else min(room, due)
        if is_time and wanted > 0:
            count = min(wanted, chunk)
            chosen = [*islice(logs, count)]
            sending.send(chosen, paces.take(count), keyed=keyed(chosen))
            last = now
    sending.finish(DRAIN_LIMIT)


def limits(rate: float | None, record_size: int) -> tuple[int, int]:
    """Records of one chunk, and open sends, that a rate needs: a chunk that is late has to make up for two."""
    if rate is None:
        return CHUNK, IN_FLIGHT
    in_flight = min(ceil(rate * PATIENCE), OPEN_BYTES // max(record_size, 1))
    return max(CHUNK, ceil(rate * TICK * 2)), max(IN_FLIGHT, in_flight)
