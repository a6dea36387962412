"""Checks: one file per promise, each a condition over a fact."""

from __future__ import annotations

from analyzers.checks.agreement import INCONSISTENT_OFFSETS
from analyzers.checks.check import Check
from analyzers.checks.durability import EXPIRED, LOST_WRITE, UNSEEN
from analyzers.checks.groups import (
    COMMIT_REGRESSION,
    DOUBLE_OWNERSHIP,
    EXCESS_DUPLICATES,
    FENCED_COMMIT,
    GROUP_SKIP,
)
from analyzers.checks.integrity import CORRUPT_READ, FOREIGN_READ, MISROUTED_READ
from analyzers.checks.monotonic_reads import SESSION_NONMONOTONIC_READ
from analyzers.checks.origin import FUTURE_READ, G1A, PHANTOM_READ
from analyzers.checks.poll_order import NONMONOTONIC_POLL, POLL_SKIP
from analyzers.checks.read_your_writes import READ_YOUR_WRITES
from analyzers.checks.send_order import NONMONOTONIC_SEND
from analyzers.checks.transactions import PRECOMMITTED_READ, READ_ABOVE_LSO, TORN_TRANSACTION, ZOMBIE_WRITE
from analyzers.checks.uniqueness import DUPLICATE

CHECKS: tuple[Check, ...] = (
    LOST_WRITE,
    UNSEEN,
    EXPIRED,
    DUPLICATE,
    INCONSISTENT_OFFSETS,
    NONMONOTONIC_POLL,
    POLL_SKIP,
    NONMONOTONIC_SEND,
    READ_YOUR_WRITES,
    SESSION_NONMONOTONIC_READ,
    PHANTOM_READ,
    G1A,
    FUTURE_READ,
    FOREIGN_READ,
    CORRUPT_READ,
    MISROUTED_READ,
    TORN_TRANSACTION,
    PRECOMMITTED_READ,
    READ_ABOVE_LSO,
    ZOMBIE_WRITE,
    DOUBLE_OWNERSHIP,
    GROUP_SKIP,
    COMMIT_REGRESSION,
    FENCED_COMMIT,
    EXCESS_DUPLICATES,
)

__all__ = ["CHECKS", "Check"]
