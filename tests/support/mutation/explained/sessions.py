"""Mutants of `analyzers.facts.sessions` that no history can tell from the original, by the reason for that."""

from __future__ import annotations

BY_REASON: dict[str, tuple[str, ...]] = {
    "the join only looks whether there is such a row": (
        "of_readers: reads.select('run', 'session').distinct() -> reads.select('run', 'session')",
    ),
    "the filter only saves work, and holds for every record when a fact is computed by itself": (
        "of_readers: records.where(history.session_filter) -> records",
        "of_users: history.records.where(history.session_filter) -> history.records",
    ),
    "it only saves work: a session without an acknowledged send has no row in the end": (
        "of_users: 'sends and (polls or session >= 0)' -> ' (polls or session >= 0) '",
    ),
}
