"""Senders with a defect, and programs that write to a topic which is not theirs."""

from __future__ import annotations

import time
from collections.abc import Callable
from functools import partial

from workloads.clients.outcome import Outcome
from workloads.clients.protocol import Completion, Log, Producer, TransactionalProducer
from workloads.payload import encode
from workloads.roles import transact
from workloads.roles.context import WorkerContext

PAUSE = 0.2
"""Seconds between two sends."""

SEND_LIMIT = 30.0
"""Seconds until an acknowledgement is given up."""

SPREAD = 0.02
"""Seconds between two sends of one transaction."""

MISTAKEN = Outcome("fail", None, "NotLeaderForPartitionError")
"""A broker may return this error after its append, so that it does not say that the record is not there."""


class FaultySender:
    """Sends to the first log, with one defect after another."""

    def __init__(self, context: WorkerContext) -> None:
        self._context, self._records = context, context.records()
        self._log: Log = context.logs[0]
        self._producer: Producer = context.producer(acks="all", idempotence=True, settings={})

    def take_success_for_refusal(self) -> None:
        op = self._context.op()
        sends = self._records.invoke(op, [self._log], time.monotonic_ns())
        self._records.flush()
        if (ended := self._send(self._encode(op), op)) is not None and ended.outcome.type == "ok":
            self._records.complete([(sends, ended._replace(outcome=MISTAKEN))])

    def record_after_others_read(self) -> None:
        """The invocation is recorded when the record has been in the log for some time."""
        op = self._context.op()
        ended = self._send(self._encode(op), op)
        self._context.stop.wait(2 * PAUSE)
        sends = self._records.invoke(op, [self._log], time.monotonic_ns())
        if ended is not None:
            self._records.complete([(sends, ended._replace(at=time.monotonic_ns()))])

    def send_unrecorded(self) -> None:
        self._send(self._encode(self._context.op()))

    def send_foreign(self) -> None:
        self._send(b"a record of another program, which knows nothing of values")

    def send_misrouted(self) -> None:
        topic, partition = self._log
        self._send(encode(self._context.run, topic, partition + 1, self._context.op()))

    def send_corrupt(self) -> None:
        payload = bytearray(self._encode(self._context.op()))
        payload[-6] ^= 0xFF
        self._send(bytes(payload))

    def close(self) -> None:
        self._producer.close(SEND_LIMIT)

    def _encode(self, value: int) -> bytes:
        return encode(self._context.run, *self._log, value)

    def _send(self, payload: bytes, op: int | None = None) -> Completion | None:
        op = self._context.op() if op is None else op
        self._producer.send(op, self._log, payload)
        deadline = time.monotonic() + SEND_LIMIT
        while time.monotonic() < deadline and not self._context.gone.is_set():
            for completion in self._producer.take(0.1):
                if completion.op == op:
                    return completion
        return None


DEFECTS: tuple[Callable[[FaultySender], None], ...] = (
    FaultySender.take_success_for_refusal,
    FaultySender.record_after_others_read,
    FaultySender.send_unrecorded,
    FaultySender.send_foreign,
    FaultySender.send_misrouted,
    FaultySender.send_corrupt,
)


def send_wrongly(context: WorkerContext) -> None:
    sender = FaultySender(context)
    context.ready()
    while not context.stop.is_set():
        for defect in DEFECTS:
            defect(sender)
            context.stop.wait(PAUSE / 4)
    sender.close()


def send_and_forget(context: WorkerContext) -> None:
    """Never look at the answers, so that the outcome of every send stays unknown."""
    records, producer = context.records(), context.producer(acks="all", idempotence=True, settings={})
    log = context.logs[0]
    context.ready()
    while not context.stop.wait(PAUSE):
        op = context.op()
        records.invoke(op, [log], time.monotonic_ns())
        records.flush()
        producer.send(op, log, encode(context.run, *log, op))
        if producer.problem() is not None:
            producer.close(0)
            producer = context.producer(acks="all", idempotence=True, settings={})
    producer.close(SEND_LIMIT)


class Spread:
    """A producer whose sends take their time, so that transactions overlap."""

    def __init__(self, inner: TransactionalProducer) -> None:
        self._inner = inner

    def __getattr__(self, name: str) -> object:
        return getattr(self._inner, name)

    def send(self, op: int, log: Log, payload: bytes) -> None:
        time.sleep(SPREAD)
        self._inner.send(op, log, payload)


def transact_slowly(context: WorkerContext) -> None:
    """No defect: the records of overlapping transactions lie in different orders in different logs."""
    make = context.transactional
    context.transactional = partial(_spread, make)  # type: ignore[method-assign,assignment]
    transact.transact(context)


def _spread(make: Callable[..., TransactionalProducer], *args: object, **kwargs: object) -> Spread:
    return Spread(make(*args, **kwargs))
