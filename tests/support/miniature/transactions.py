"""The transaction coordinator: fencing, decisions, markers and timeouts."""

from __future__ import annotations

from tests.support.miniature.partition import Entry, Transaction
from tests.support.miniature.scheduler import MS, Steps
from tests.support.miniature.state import State

TRANSACTION_TIMEOUT = 100 * MS


def is_fenced(state: State, transaction: Transaction) -> bool:
    newest = state.transactional_ids[transaction.transactional_id].identity
    return newest > transaction.identity and "zombie" not in state.flaws


def decide(state: State, transaction: Transaction, outcome: str) -> None:
    """Decide the outcome once. The markers are written even if the client that asked is gone."""
    if transaction.outcome is None:
        transaction.outcome = outcome
        state.ended_transactions.append(transaction)
        state.scheduler.start(_write_markers(state, transaction))


def time_out(state: State, transaction: Transaction) -> Steps:
    """Abort a transaction whose producer is gone, and fence the producer."""
    yield TRANSACTION_TIMEOUT
    owner = state.transactional_ids[transaction.transactional_id]
    if transaction.outcome is None and owner.identity == transaction.identity:
        owner.epoch += 1
    decide(state, transaction, "commit" if "unended" in state.flaws else "abort")


def _write_markers(state: State, transaction: Transaction) -> Steps:
    """Write each marker again until it is replicated."""
    owner = state.transactional_ids[transaction.transactional_id]
    for number in sorted(transaction.partitions):
        marker = Entry(None, transaction=transaction)
        while marker not in (partition := state.partitions[number]).entries[: partition.replicated]:
            if partition.has_leader and not partition.is_isolated:
                partition.append([marker], state.now)
            yield state.random.randint(1, 6 * MS)
    transaction.is_complete = True
    if owner.ongoing is transaction:
        owner.ongoing = None
