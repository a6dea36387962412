"""Mutants of `analyzers.facts.dependencies` that no history can tell from the original, by the reason for that."""

from __future__ import annotations

BY_REASON: dict[str, tuple[str, ...]] = {
    "a transaction does not depend on itself": (
        "cycle_candidates: 'source > target as is_back' -> 'source >= target as is_back'",
    ),
    "Spark has sorted the values of a log to aggregate them, which is the order that is asked for": (
        "dependencies: Window.partitionBy(*LOG).orderBy('at', 'value') -> "
        "Window.partitionBy(*LOG).orderBy('at')",
    ),
}
