"""Mutants of `analyzers.facts.snapshots` that no history can tell from the original, by the reason for that."""

from __future__ import annotations

BY_REASON: dict[str, tuple[str, ...]] = {
    "only reads have the number of a snapshot": (
        "snapshots: history.operations.where(\"f = 'read'\") -> history.operations",
    ),
    "a read that is no snapshot has the total 0, and expects it": (
        "snapshots: reads.where('number is not null') -> reads",
    ),
    "a value is sent once": (
        "_parts: \"coalesce(max(transaction) filter (where f = 'send'), value)\" -> "
        "\"coalesce(min(transaction) filter (where f = 'send'), value)\"",
    ),
    "records that were not late need no list of positions; the condition saves the time to copy it": (
        "_had: f\"{_same('got', 'every')} and read < got\" -> f\" {_same('got', 'every')} \"",
        "_had: f\"{_same('got', 'every')} and read < got\" -> f\"{_same('got', 'every')} and read <= got\"",
    ),
}
