"""The copier: polls as a member of a group, makes one record of each polled one, commits the positions.

This is the loop of KIP-447 (read, process, write): the positions are part of the transaction that holds the copies,
and the membership that comes with them lets the group's coordinator refuse a member that was replaced. Whatever
fails, the copier leaves the group and joins it again: it then goes on from the committed positions.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple, Protocol

from workloads.clients.protocol import Completion, Ending, Log, Polled, TransactionalProducer
from workloads.payload import decode
from workloads.recording import Commit
from workloads.roles.context import WorkerContext
from workloads.roles.member import Membership
from workloads.roles.sending import Sending
from workloads.roles.transactional_sending import TransactionalSending

POLL = 0.2
"""Seconds of one poll."""

SEND_LIMIT = 10.0
"""Seconds for plain sends to be acknowledged."""

POSITIONS_LIMIT = 4.0
"""Seconds for the coordinators to accept the positions of a transaction."""

CLOSE_LIMIT = 2.0


class Batch(NamedTuple):
    """What is copied together: the values polled, and the next offset to read of each log."""

    values: Sequence[int]
    positions: dict[Log, int]


class Copies(Protocol):
    """How copies are sent, and when their positions are committed."""

    def connect(self) -> bool:
        """False when the worker is stopped before there is a producer."""

    def copy(self, batch: Batch) -> bool:
        """Whether it was copied and committed. If not, the copier goes on from the committed positions."""

    def close(self) -> None: ...


def copy(context: WorkerContext) -> None:
    """Copy until `context.stop` is set.

    Options: source, output (names of topics, as `WorkerContext.logs_of` has them); guarantee ("exactly-once",
    "at-least-once" or "at-most-once"); batch (records that are copied together at most); work (seconds that a batch
    takes); id (number of its transactional id), and those of `Membership`, `TransactionalSending` and `Sending`.
    """
    options = context.options
    (source,) = {topic for topic, _ in context.logs_of(options["source"])}
    membership = Membership(context, (source,))
    exactly_once = options["guarantee"] == "exactly-once"
    copies: Copies = (TransactionalCopies if exactly_once else PlainCopies)(context, membership)
    if copies.connect():
        context.ready()
    while not context.stop.is_set():
        for batch in batches(context, membership.poll(POLL)):
            if not (copies.connect() and copies.copy(batch)):
                context.counts["batches given up"] += 1
                membership.leave(commits=False)
                break
            context.counts["copied"] += len(batch.values)
            if context.stop.is_set():
                break
    membership.leave(commits=False)
    copies.close()


def batches(context: WorkerContext, polled: Iterable[Polled]) -> Iterator[Batch]:
    """Records that are not of this run have no copy; the positions pass them."""
    size: int = context.options["batch"]
    records = [*polled]
    for start in range(0, len(records), size):
        part = records[start : start + size]
        decoded = (decode(each.payload, context.run, *each.log) for each in part)
        yield Batch(
            [value for value, problem in decoded if value is not None and problem is None],
            {each.log: each.offset + 1 for each in part},
        )


def target(logs: Sequence[Log], value: int) -> Log:
    """The log of a value's copy. Those of one source partition go to all partitions of the output."""
    return logs[value // len(logs) % len(logs)]


class TransactionalCopies:
    """Exactly once: copies and positions in one transaction."""

    def __init__(self, context: WorkerContext, membership: Membership) -> None:
        self._context, self._membership = context, membership
        self._records = context.records()
        self._sending = TransactionalSending(
            context, self._records, f"copier-{context.options['id']}-{context.run}"
        )

    def connect(self) -> bool:
        return self._sending.is_connected or self._sending.connect()

    def copy(self, batch: Batch) -> bool:
        context = self._context
        op, now = context.op(), time.monotonic_ns()
        outputs = context.logs_of(context.options["output"])
        logs = [target(outputs, value) for value in batch.values]
        sends = self._records.invoke(context.op(len(logs)), logs, now, transaction=op, sources=batch.values)
        self._records.flush()
        begun: list[Commit] = []

        def add_positions(producer: TransactionalProducer) -> Ending:
            context.stop.wait(context.options["work"])
            begun.extend(self._membership.begin_commit(batch.positions, op))
            return producer.add_positions(batch.positions, self._membership.metadata, POSITIONS_LIMIT)

        ending = self._sending.transact(op, sends, invoked=now, before_end=add_positions)
        if begun:
            self._membership.end_commit(begun, ending)
        return ending.type == "ok"

    def close(self) -> None:
        self._sending.close()


class PlainCopies:
    """At least once: it commits after the copies were acknowledged. At most once: it commits before it sends them."""

    def __init__(self, context: WorkerContext, membership: Membership) -> None:
        self._context, self._membership = context, membership
        self._sending = Sending(context, context.records())

    def connect(self) -> bool:
        return self._sending.is_connected or self._sending.connect()

    def copy(self, batch: Batch) -> bool:
        work: float = self._context.options["work"]
        if self._context.options["guarantee"] == "at-most-once":
            if self._membership.commit_positions(batch.positions).type != "ok":
                return False
            self._context.stop.wait(work)
            self._send(batch)
            return True
        if not self._send(batch):
            return False
        self._context.stop.wait(work)
        return self._membership.commit_positions(batch.positions).type == "ok"

    def close(self) -> None:
        self._sending.finish(CLOSE_LIMIT)

    def _send(self, batch: Batch) -> bool:
        """Whether all copies were acknowledged."""
        sending, outputs = self._sending, self._context.logs_of(self._context.options["output"])
        sending.send([target(outputs, value) for value in batch.values], sources=batch.values)
        ended: list[Completion] = []
        deadline = time.monotonic() + SEND_LIMIT
        while sending.in_flight and time.monotonic() < deadline and not self._context.gone.is_set():
            ended += sending.collect(0.1)
        ended += sending.drop() if sending.in_flight else []
        return len(ended) == len(batch.values) and all(each.outcome.type == "ok" for each in ended)
