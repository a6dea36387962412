"""Mutants of `analyzers.facts.session_writes` that no history can tell from the original, by the reason for that."""

from __future__ import annotations

BY_REASON: dict[str, tuple[str, ...]] = {
    "the rows that come on top lack a column that every check compares, so that no check counts them": (
        "session_writes: filter (where {POLLED})').alias('seen')).where('time is not null') -> filter "
        "(where {POLLED})').alias('seen'))",
    ),
    "a value is sent once, so that all rows with the column hold the same": (
        "session_writes: f'max(completed) filter (where {ACKED})' -> f'min(completed) filter (where "
        "{ACKED})'",
        "session_writes: f'max(offset) filter (where {ACKED})' -> f'min(offset) filter (where {ACKED})'",
        "session_writes: f'max(process) filter (where {ACKED})' -> f'min(process) filter (where {ACKED})'",
    ),
    "the rows that come on top count in no aggregate: each has a condition of its own": (
        "session_writes: f'value is not null and (({ACKED}) or ({POLLED}))' -> f' value is not null '",
    ),
    "only polls have the column": ("session_writes: \"f = 'poll' and committed\" -> ' committed '",),
}
