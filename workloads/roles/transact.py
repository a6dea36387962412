"""The transactor: one transaction after another, each with records for several logs."""

from __future__ import annotations

import time
from collections.abc import Callable
from random import Random
from typing import Literal, NamedTuple

from workloads.clients.protocol import Ending, Log, TransactionalProducer
from workloads.recording import Sent
from workloads.roles.context import WorkerContext
from workloads.roles.pace import Pace
from workloads.roles.transactional_sending import TransactionalSending

TICK = 0.01
"""Seconds between two looks at whether the next record is due."""

OVERDUE = 1.5
"""How many times its timeout a transaction stays open that the coordinator is meant to abort."""

HANDOVER = 1.0
"""Seconds after which a process whose producer was given up claims a transactional id that it shares with others."""


class Part(NamedTuple):
    """A record of a transaction to be written. amount: what it adds to its account; None if it is no transfer."""

    log: Log
    amount: int | None = None


Parts = Callable[[WorkerContext, Random], list[Part]]
"""Chooses the records of the next transaction, one or more."""


def transact(context: WorkerContext) -> None:
    """Run transactions until `context.stop` is set.

    Options: id (number of its transactional id); shared (whether other processes use the same id); timeout (s, of the
    coordinator); size (records of a transaction at most); rate (records per second, or None); aborts, stalls
    (shares of the transactions that the client aborts, and that it leaves open for longer than the timeout before it
    requests the commit); record_size (bytes); client (settings of the library's producer).
    """
    transact_with(context, Transactor(context))


def records_of_random_logs(context: WorkerContext, choice: Random) -> list[Part]:
    """One to `size` records."""
    count = choice.randint(1, context.options["size"])
    return [Part(log) for log in choice.choices(context.logs, k=count)]


def transact_with(context: WorkerContext, transactor: Transactor) -> None:
    """Let it run transactions at the given rate until `context.stop` is set."""
    if transactor.connect():
        context.ready()
    rate: float | None = context.options["rate"]
    transactor.pace = Pace(rate, time.monotonic()) if rate is not None else None
    while not context.stop.is_set():
        if transactor.is_due():
            transactor.transact()
        else:
            context.stop.wait(TICK)
    transactor.close()


class Transactor:
    """The transactions of one process. parts: chooses the records of each."""

    def __init__(self, context: WorkerContext, parts: Parts = records_of_random_logs) -> None:
        self._context, self._parts = context, parts
        self._records = context.records()
        self._sending = TransactionalSending(
            context, self._records, f"transactor-{context.options['id']}-{context.run}"
        )
        self._choice = Random(f"{context.run}/{context.process}")
        self.pace: Pace | None = None

    def is_due(self) -> bool:
        """Whether the next transaction is due at the given rate."""
        if self.pace is None:
            return True
        due = self.pace.due(time.monotonic())
        self._context.counts["skipped"] = int(self.pace.skipped)
        return due > 0

    def connect(self) -> bool:
        """Claim the transactional id, with retries. False when the worker is stopped before."""
        return self._sending.connect()

    def transact(self) -> None:
        """One transaction: sends, their acknowledgements, and its outcome."""
        context = self._context
        if not self._sending.is_connected and not self.connect():
            return
        outcome: Literal["commit", "abort"] = "abort" if self._chance("aborts") else "commit"
        is_stalled = outcome == "commit" and self._chance("stalls")
        op, invoked = context.op(), time.monotonic_ns()
        self._sending.transact(
            op,
            self._invoke(op),
            invoked=invoked,
            outcome=outcome,
            before_end=self._stall if is_stalled else None,
        )
        if not self._sending.is_connected and context.options["shared"]:
            context.stop.wait(HANDOVER)

    def close(self) -> None:
        self._sending.close()

    def _stall(self, _: TransactionalProducer) -> Ending:
        self._context.stop.wait(self._context.options["timeout"] * OVERDUE)
        return Ending("ok")

    def _chance(self, option: str) -> bool:
        share: float = self._context.options[option]
        return self._choice.random() < share

    def _invoke(self, transaction: int) -> list[Sent]:
        """Record the invocations of its sends, on disk before the first one is made."""
        context, now = self._context, time.monotonic_ns()
        parts = self._parts(context, self._choice)
        due = [None] * len(parts) if self.pace is None else self.pace.take(len(parts))
        sends = [
            self._records.invoke(context.op(), part.log, now, at, transaction=transaction, amount=part.amount)
            for part, at in zip(parts, due, strict=True)
        ]
        self._records.flush()
        return sends
