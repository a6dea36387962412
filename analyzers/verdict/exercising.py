"""Which promise puts a check to the test: that a check found nothing shows something only if the run exercised it."""

from __future__ import annotations

from collections.abc import Mapping

_BY_PROMISE: Mapping[str, tuple[str, ...]] = {
    # Every run reads its logs to their ends at last: what is acknowledged before that can be missing, or be twice.
    "acks-after-faults": (
        "lost-write", "duplicate", "offset-reuse", "monotonic-writes", "nonmonotonic-send", "int-nonmonotonic-send",
        "int-send-skip", "realtime-order", "overtaken-write", "unavailable", "slow-recovery", "silent-partition",
    ),
    "session-reads": ("read-your-writes", "monotonic-reads", "writes-follow-reads"),
    "rereads": ("inconsistent-offsets",),
    "searches": ("wrong-offset-for-time",),
    "polls-to-the-end": (
        "lost-read", "unseen", "expired", "phantom-read", "foreign-record", "corrupt-record", "poll-skip",
        "nonmonotonic-poll", "int-poll-skip", "int-nonmonotonic-poll", "stalled-reader",
    ),
    "transactions": (
        "G1a", "torn-transaction", "precommitted-read", "future-read", "zombie-write", "read-above-lso", "G0",
        "G0-realtime", "G1c-wr", "G1c", "G1c-realtime",
    ),
    "group-commits": (
        "double-ownership", "group-skip", "added-partition-skip", "commit-beyond-polls", "commit-beyond-end",
        "commit-regression", "unfenced-commit",
        "excess-duplicates", "orphaned-partition",
    ),
    "deliveries": (
        "queue-lost", "added-queue-skip", "queue-double-holder", "queue-redelivery", "queue-delivery-count",
        "queue-unfinished",
    ),
    "copies": ("lost-copy", "duplicate-copy"),
    "outputs": (
        "missing-output", "unprocessed-input", "duplicate-output", "reordered-output", "wrong-aggregate",
        "invented-output", "standstill",
    ),
    "snapshots": ("wrong-total",),
    "compaction": ("risen-key",),
    "inspections": ("forgotten-change",),
    "samples-of-every-broker": (
        "read-above-watermark", "two-leaders-in-epoch", "leader-outside-isr", "metadata-regression",
        "metadata-disagreement",
    ),
    "samples-of-leaders": (
        "watermark-above-end", "watermark-regression", "leader-below-watermark", "unclean-truncation",
        "replica-below-watermark", "unexplained-log-start", "log-start-regression", "acks-below-min-isr",
    ),
    "samples-of-controllers": ("controller-conflict", "controller-regression"),
    "identical-replicas": ("replica-divergence",),
    "samples-of-groups": (
        "group-state-conflict", "group-epoch-regression", "unexplained-rebalance", "position-regression",
    ),
    "samples-of-eligible-replicas": ("eligible-conflict", "ineligible-leader"),
    "samples-of-transactions": ("transaction-state-regression", "producer-epoch-regression"),
}  # fmt: skip
"""By promise: the anomalies that a run cannot show without it."""

EXERCISED_BY: Mapping[str, str] = {
    anomaly: promise for promise, anomalies in _BY_PROMISE.items() for anomaly in anomalies
}
"""By anomaly."""
