"""The probe: what each broker itself says, several times a second, for as long as the run lasts."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from functools import partial
from itertools import cycle

from workloads.clients import requests
from workloads.clients.connection import Address, Connection, ask
from workloads.clients.protocol import Log
from workloads.history.writer import Writer
from workloads.roles.context import WorkerContext

INTERVAL = 0.2
TIMEOUT = 1.0
"""Seconds between samples of one broker, and for one answer."""

JOIN_LIMIT = 3 * TIMEOUT


def probe(context: WorkerContext) -> None:
    """Observe until told to stop. A broker that does not answer leaves a gap in its own rows only."""
    writer = context.writer("observations")
    threads = [
        threading.Thread(
            target=_repeat, args=(context, Broker(context, writer, node, address).sample), daemon=True
        )
        for node, address in context.brokers.items()
    ]
    nodes = cycle(context.brokers)
    threads.append(
        threading.Thread(
            target=_repeat, args=(context, partial(_quorum, context, writer, nodes)), daemon=True
        )
    )
    context.ready()
    for thread in threads:
        thread.start()
    context.stop.wait()
    deadline = time.monotonic() + JOIN_LIMIT
    for thread in threads:
        thread.join(max(0.0, deadline - time.monotonic()))


class Broker:
    """Samples one broker over one connection, and over another after that has failed."""

    def __init__(self, context: WorkerContext, writer: Writer, node: int, address: Address) -> None:
        self._context, self._writer = context, writer
        self._node, self._address = node, address
        self._connection: Connection | None = None
        self._ends: dict[Log, int] = {}

    def sample(self) -> None:
        try:
            if self._connection is None:
                self._connection = Connection(self._address, timeout=TIMEOUT)
            self._sample(self._connection)
        except OSError:
            if self._connection is not None:
                self._connection.close()
            self._connection = None
            raise

    def _sample(self, connection: Connection) -> None:
        context = self._context
        asked = time.monotonic_ns()
        views = requests.metadata(connection.ask, context.topics)
        seen = {log: view for log, view in views.items() if log in set(context.logs)}
        if not seen:
            return
        # The high watermark first: asked later, it would overtake the end of the log.
        marks = requests.watermarks(connection.ask, {log: self._ends.get(log, 0) for log in seen})
        ends = requests.offsets(connection.ask, dict.fromkeys(seen, -1), asker=requests.REPLICA)
        now = time.monotonic_ns()
        # An end that a replica no longer has (it was truncated) is refused once, and asked from 0 then.
        self._ends = {log: end for log, (code, end) in ends.items() if not code and log in marks}
        for log, view in seen.items():
            mark, (code, end) = marks.get(log), ends.get(log, (-1, -1))
            topic, partition = log
            self._writer.append(
                run=context.run,
                process=context.process,
                time=now,
                node=self._node,
                kind="partition",
                topic=topic,
                partition=partition,
                leader=view.leader,
                leader_epoch=view.leader_epoch,
                isr=list(view.isr),
                log_start=mark.log_start if mark else None,
                high_watermark=mark.high_watermark if mark else None,
                log_end=end if not code else None,
                last_stable=mark.last_stable if mark else None,
                asked=asked,
            )
        context.counts["samples"] += 1


def _quorum(context: WorkerContext, writer: Writer, nodes: cycle[int]) -> None:
    """Any broker passes the question on to the active controller, and hangs with it: in turns, and apart."""
    node = next(nodes)
    asked = time.monotonic_ns()
    known = requests.quorum(partial(ask, context.brokers[node], timeout=TIMEOUT))
    if known is not None:
        writer.append(
            run=context.run,
            process=context.process,
            time=time.monotonic_ns(),
            node=node,
            kind="quorum",
            leader=known.leader,
            leader_epoch=known.epoch,
            asked=asked,
        )


def _repeat(context: WorkerContext, sample: Callable[[], None]) -> None:
    while not context.stop.is_set():
        begun = time.monotonic()
        try:
            sample()
        except OSError:
            context.counts["unanswered"] += 1
        context.stop.wait(max(0.0, INTERVAL - (time.monotonic() - begun)))
