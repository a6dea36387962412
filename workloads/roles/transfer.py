"""The transactor of a bank: each of its transactions transfers amounts between accounts."""

from __future__ import annotations

from random import Random

from workloads.clients.protocol import Log
from workloads.roles.context import WorkerContext
from workloads.roles.transact import Transactor, transact_with

MOST = 1000
"""The largest amount. Large enough that the amounts of several torn transfers hardly ever cancel out."""


def transfer(context: WorkerContext) -> None:
    """Run transactions until `context.stop` is set.

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
        amount = choice.randint(1, MOST)
        logs += [debited, credited]
        amounts += [-amount, amount]
    return logs, amounts
