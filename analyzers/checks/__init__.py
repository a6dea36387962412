"""Checks: one file per promise, each a condition over a fact."""

from __future__ import annotations

from analyzers.checks.agreement import INCONSISTENT_OFFSETS, OFFSET_REUSE
from analyzers.checks.check import Check
from analyzers.checks.durability import EXPIRED, LOST_WRITE, UNSEEN
from analyzers.checks.groups import (
    COMMIT_REGRESSION,
    DOUBLE_OWNERSHIP,
    EXCESS_DUPLICATES,
    FENCED_COMMIT,
    GROUP_SKIP,
)
from analyzers.checks.integrity import CORRUPT_RECORD, FOREIGN_RECORD
from analyzers.checks.order import (
    INT_NONMONOTONIC_POLL,
    INT_NONMONOTONIC_SEND,
    INT_POLL_SKIP,
    INT_SEND_SKIP,
    NONMONOTONIC_POLL,
    NONMONOTONIC_SEND,
    POLL_SKIP,
    REALTIME_ORDER,
)
from analyzers.checks.origin import FUTURE_READ, G1A, PHANTOM_READ
from analyzers.checks.sessions import (
    MONOTONIC_READS,
    MONOTONIC_WRITES,
    READ_YOUR_WRITES,
    WRITES_FOLLOW_READS,
)
from analyzers.checks.transactions import PRECOMMITTED_READ, READ_ABOVE_LSO, TORN_TRANSACTION, ZOMBIE_WRITE
from analyzers.checks.uniqueness import DUPLICATE

CHECKS: tuple[Check, ...] = (
    LOST_WRITE,
    UNSEEN,
    EXPIRED,
    DUPLICATE,
    INCONSISTENT_OFFSETS,
    OFFSET_REUSE,
    PHANTOM_READ,
    G1A,
    FUTURE_READ,
    FOREIGN_RECORD,
    CORRUPT_RECORD,
    READ_YOUR_WRITES,
    MONOTONIC_READS,
    MONOTONIC_WRITES,
    WRITES_FOLLOW_READS,
    POLL_SKIP,
    NONMONOTONIC_POLL,
    INT_POLL_SKIP,
    INT_NONMONOTONIC_POLL,
    NONMONOTONIC_SEND,
    INT_NONMONOTONIC_SEND,
    INT_SEND_SKIP,
    REALTIME_ORDER,
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
