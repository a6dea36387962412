"""The transactor: one transaction after another, each with records for several logs, or with transfers of a bank."""

from __future__ import annotations

import time
from collections.abc import Callable
from random import Random
from typing import Literal

from workloads.clients.protocol import Ending, Log, TransactionalProducer
from workloads.recording import Sends
from workloads.roles.context import WorkerContext
from workloads.roles.producer import Paces
from workloads.roles.transactional_sending import TransactionalSending

TICK = 0.01
"""Seconds between two looks at whether the next record is due."""

OVERDUE = 1.5
"""How many times its timeout a transaction stays open that the coordinator is meant to abort."""

HANDOVER = 1.0
"""Seconds after which a process whose producer was given up claims a transactional id that it shares with others."""

LARGEST_AMOUNT = 1000
"""Of a transfer. Large enough that the amounts of several torn transfers hardly ever cancel out."""

Parts = Callable[[WorkerContext, Random], tuple[list[Log], list[int]]]
"""Chooses the records of the next transaction, one or more: the log of each, and what each adds to its account; no
amounts if they are no transfers."""


def transact(context: WorkerContext) -> None:
    """Run transactions until `context.stop` is set.

    Options: id (number of its transactional id); shared (whether other processes use the same id); timeout (s, of the
    coordinator); size (records of a transaction at most); rate (see `workloads.load.Rate`); aborts, stalls
    (shares of the transactions that the client aborts, and that it leaves open for longer than the timeout before it
    requests the commit); record_size (see `workloads.load.Sizes`); client (settings of the library's producer).
    """
    transact_with(context, Transactor(context))


def records_of_random_logs(context: WorkerContext, choice: Random) -> tuple[list[Log], list[int]]:
    """One to `size` records."""
    count = choice.randint(1, context.options["size"])
    return choice.choices(context.logs, k=count), []


def transact_with(context: WorkerContext, transactor: Transactor) -> None:
    """Let it run transactions at the given rate until `context.stop` is set."""
    if transactor.connect():
        context.ready()
    transactor.paces = Paces(context, context.options["rate"])
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
        self.paces = Paces(context, context.options["rate"])

    def is_due(self) -> bool:
        """Whether the next transaction is due at the given rate."""
        due = self.paces.due()
        return due is None or due > 0

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

    def _invoke(self, transaction: int) -> Sends:
        """Record the invocations of its sends, on disk before the first one is made."""
        context, now = self._context, time.monotonic_ns()
        logs, amounts = self._parts(context, self._choice)
        due = self.paces.take(len(logs))
        sends = self._records.invoke(
            context.op(len(logs)), logs, now, due, transaction=transaction, amounts=amounts
        )
        self._records.flush()
        return sends


def transfer(context: WorkerContext) -> None:
    """Run transactions that transfer amounts between the accounts of a bank, until `context.stop` is set.

    Options: transfers (of one transaction, at most), and those of `transact` but size.
    """
    transact_with(context, Transactor(context, transfers))


def transfers(context: WorkerContext, choice: Random) -> tuple[list[Log], list[int]]:
    """The records of a transaction with one or more transfers: a debit of one account, and a credit of another. An
    account is a log."""
    logs: list[Log] = []
    amounts: list[int] = []
    for _ in range(choice.randint(1, context.options["transfers"])):
        debited, credited = choice.sample(context.logs, 2)
        amount = choice.randint(1, LARGEST_AMOUNT)
        logs += [debited, credited]
        amounts += [-amount, amount]
    return logs, amounts
