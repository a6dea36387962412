"""Sending: the invocation is on disk before the record is sent, and a broken producer is replaced."""

from __future__ import annotations

import time
from collections.abc import Iterable, Sequence
from itertools import zip_longest

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
from workloads.payload import encode
from workloads.recording import Records, Sent
from workloads.roles.context import WorkerContext

CLOSE_TIMEOUT = 2.0


class Sending:
    """The sends of one process. Before a record is handed to the client, its invocation is on disk.

    Options of the worker: acks, idempotence, record_size (bytes of a value at least), client (settings of the
    library's producer).
    """

    def __init__(self, context: WorkerContext, records: Records) -> None:
        self._context = context
        self._records = records
        self._open: dict[int, Sent] = {}
        self._producer: Producer | None = None

    @property
    def in_flight(self) -> int:
        return len(self._open)

    @property
    def is_connected(self) -> bool:
        return self._producer is not None

    def connect(self) -> bool:
        """Make a producer, with retries until brokers answer. False when the worker is stopped before."""
        options = self._context.options
        retrying = Retrying(
            stop=stop_when_event_set(self._context.stop),
            wait=wait_fixed(0.2),
            sleep=sleep_using_event(self._context.stop),
            retry=retry_if_exception_type(OSError),
        )
        try:
            self._producer = retrying(
                self._context.producer,
                acks=options["acks"],
                idempotence=options["idempotence"],
                settings=options["client"],
            )
        except RetryError:
            return False
        return True

    def send(
        self,
        logs: Sequence[Log],
        intended: Iterable[int] = (),
        *,
        sources: Iterable[int] = (),
        keyed: Iterable[Keyed] = (),
    ) -> None:
        """Send a new value to each of the logs; none when the worker is stopped before there is a producer.

        intended  when each was due, in ns; empty if they have no time.
        sources   value of the record from which each is made; empty if from none.
        keyed     the key of each; empty if they have none.
        """
        if self._producer is None and not self.connect():
            return
        assert self._producer is not None
        context = self._context
        now = time.monotonic_ns()
        chunk = [
            self._records.invoke(context.op(), log, now, due, source=source, keyed=key)
            for log, due, source, key in zip_longest(logs, intended, sources, keyed)
        ]
        self._records.flush()
        for sent in chunk:
            payload = encode(
                context.run, *sent.log, sent.op, size=context.options["record_size"], source=sent.source
            )
            self._open[sent.op] = sent._replace(invoked=time.monotonic_ns())
            self._producer.send(sent.op, sent.log, payload, sent.keyed)
        context.counts["sends"] += len(chunk)

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
        producer, self._producer = self._producer, None
        completions = producer.close(0 if self._context.gone.is_set() else CLOSE_TIMEOUT)
        self._record(completions)
        self._context.counts["producers dropped"] += 1
        return completions

    def leader_epoch(self, log: Log) -> int:
        return -1 if self._producer is None else self._producer.leader_epoch(log)

    def finish(self, limit: float) -> None:
        """Wait up to `limit` seconds for the open sends, then close the producer."""
        deadline = time.monotonic() + limit
        while self._open and not self._context.gone.is_set() and time.monotonic() < deadline:
            self.collect(0.1)
        if self._producer is not None:
            self._record(self._producer.close(0 if self._context.gone.is_set() else CLOSE_TIMEOUT))
            self._producer = None

    def _record(self, completions: Sequence[Completion]) -> None:
        for completion in completions:
            self._records.complete(self._open.pop(completion.op), completion)
            self._context.counts["acks" if completion.outcome.type == "ok" else completion.outcome.type] += 1
