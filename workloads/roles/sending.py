"""Sending: the invocation is on disk before the record is sent, and a broken producer is replaced."""

from __future__ import annotations

import random
import time
from collections import Counter
from collections.abc import Callable, Sequence
from typing import TypeVar

from tenacity import (
    RetryError,
    Retrying,
    retry_if_exception_type,
    sleep_using_event,
    stop_when_event_set,
    wait_fixed,
)

from workloads.clients.protocol import Completion, Log, Producer
from workloads.keys import Keyed
from workloads.load import drawn_sizes
from workloads.payload import encode
from workloads.recording import Records, Sends
from workloads.roles.context import WorkerContext

T = TypeVar("T")

CLOSE_TIMEOUT = 2.0


def retried(context: WorkerContext, connect: Callable[[], T]) -> T | None:
    """What it returns, once it raises no OSError any more. None when the worker is stopped before."""
    retrying = Retrying(
        stop=stop_when_event_set(context.stop),
        wait=wait_fixed(0.2),
        sleep=sleep_using_event(context.stop),
        retry=retry_if_exception_type(OSError),
    )
    try:
        return retrying(connect)
    except RetryError:
        return None


class Sending:
    """The sends of one process. Before a record is handed to the client, its invocation is on disk.

    Options of the worker: acks, idempotence, record_size (see `workloads.load.Sizes`), client (settings of the
    library's producer).

    body  of the record with this value and this key, for an application that reads it; see `Keyed.body`.
    """

    def __init__(
        self, context: WorkerContext, records: Records, *, body: Callable[[int, int], bytes] | None = None
    ) -> None:
        self._context = context
        self._records = records
        self._body = body
        self._open: dict[int, Sends] = {}
        self._ends: dict[Log, int] = {}
        self._epochs: dict[Log, int] = {}
        self._unsure: set[Log] = set()
        self._producer: Producer | None = None
        self._sizes = drawn_sizes(
            context.options["record_size"], random.Random(f"{context.run}/{context.process}/sizes")
        )

    @property
    def in_flight(self) -> int:
        return len(self._open)

    @property
    def is_connected(self) -> bool:
        return self._producer is not None

    def connect(self) -> bool:
        """Make a producer, with retries until brokers answer. False when the worker is stopped before."""
        options = self._context.options
        self._producer = retried(
            self._context,
            lambda: self._context.producer(
                acks=options["acks"], idempotence=options["idempotence"], settings=options["client"]
            ),
        )
        return self._producer is not None

    def send(
        self,
        logs: Sequence[Log],
        intended: Sequence[int] = (),
        *,
        sources: Sequence[int] = (),
        keyed: Sequence[Keyed] = (),
    ) -> None:
        """Send a new value to each of the logs; none when the worker is stopped before there is a producer.

        intended  when each was due, in ns; empty if they have no time.
        sources   value of the record from which each is made; empty if from none.
        keyed     the key of each; empty if they have none.
        """
        if self._producer is None and not self.connect():
            return
        assert self._producer is not None
        context, producer = self._context, self._producer
        sends = self._records.invoke(
            context.op(len(logs)), logs, time.monotonic_ns(), intended, sources=sources, keyed=keyed
        )
        self._records.flush()
        run = context.run
        for (place, (op, log, source, key)), size in zip(enumerate(sends), self._sizes, strict=False):
            payload = encode(run, *log, op, size=size, source=source)
            if self._body is not None and key is not None:
                key = key._replace(body=self._body(op, key.key))
            self._open[op] = sends
            # Nearer to the effect than the time before the flush.
            sends.invoked[place] = time.monotonic_ns()
            producer.send(op, log, payload, key)
        context.counts["sends"] += len(sends)

    def collect(self, timeout: float) -> list[Completion]:
        """Record completions; waits up to `timeout` seconds for the first. Drops a producer with a problem."""
        if self._producer is None:
            return []
        completions = self._producer.take(timeout)
        self._record(completions)
        if self._producer.problem() is not None:
            completions += self.drop()
        return completions

    def drop(self) -> list[Completion]:
        """Close the producer and record its open sends with unknown outcome. The next send makes another."""
        if self._producer is None:
            return []
        completions = self._close()
        self._context.counts["producers dropped"] += 1
        return completions

    def replace(self) -> None:
        """Close the producer. The next send makes another."""
        if self._producer is not None:
            self._close()

    def acknowledged_end(self, log: Log) -> int:
        """The offset behind the highest one that was acknowledged; 0 for none."""
        return self._ends.get(log, 0)

    def leader_epoch(self, log: Log) -> int:
        """As `Producer.leader_epoch`, of all producers so far."""
        before = self._epochs.setdefault(log, -1)
        if self._producer is None:
            return -1 if log in self._unsure else before
        epoch = self._producer.leader_epoch(log)
        return max(epoch, before) if epoch >= 0 else -1

    def finish(self, limit: float) -> None:
        """Wait up to `limit` seconds for the open sends, then close the producer."""
        deadline = time.monotonic() + limit
        while self._open and not self._context.gone.is_set() and time.monotonic() < deadline:
            self.collect(0.1)
        self.replace()

    def _close(self) -> list[Completion]:
        assert self._producer is not None
        # The next producer may find an older leader first. Only for callers that want epochs, which brokers may have
        # to be asked for.
        latest = {log: self.leader_epoch(log) for log in self._epochs}
        self._unsure = {log for log, epoch in latest.items() if epoch < 0}
        self._epochs = {log: max(epoch, latest[log]) for log, epoch in self._epochs.items()}
        producer, self._producer = self._producer, None
        completions = producer.close(0 if self._context.gone.is_set() else CLOSE_TIMEOUT)
        self._record(completions)
        return completions

    def _record(self, completions: Sequence[Completion]) -> None:
        ended = [(self._open.pop(completion.op), completion) for completion in completions]
        self._records.complete(ended)
        ends = self._ends
        for sends, (op, _, (type, offset, _)) in ended:
            if type == "ok" and offset is not None:
                log = sends.logs[op - sends.op]
                if offset >= ends.get(log, 0):
                    ends[log] = offset + 1
        for type, count in Counter(completion.outcome.type for completion in completions).items():
            self._context.counts["acks" if type == "ok" else type] += count
