"""Mutants of `analyzers.facts.dependencies` that no history can tell from the original, by the reason for that."""

from __future__ import annotations

BY_REASON: dict[str, tuple[str, ...]] = {
    "numbers only tell spans apart; they begin with 0 then": (
        "cycle_candidates: 'count_if(reached is null or reached < low)' -> 'count_if(reached < low )'",
    ),
    "a transaction does not depend on itself": ("cycle_candidates: 'source > target' -> 'source >= target'",),
    "the span of a dependency that goes forward ends before it begins": (
        "cycle_candidates: edges.where('source > target') -> edges",
    ),
    "the rows have the order of the window before, which is the same": (
        "cycle_candidates: Window.partitionBy('run').orderBy('low', 'high') -> "
        "Window.partitionBy('run').orderBy('low') (#2)",
    ),
    (
        "spans that begin together overlap; in another order, one of them counts twice or is too long, "
        "which adds no cycle"
    ): (
        "cycle_candidates: Window.partitionBy('run').orderBy('low', 'high') -> "
        "Window.partitionBy('run').orderBy('low')",
    ),
    "Spark has sorted the values of a log to aggregate them, which is the order that is asked for": (
        "dependencies: Window.partitionBy(*LOG).orderBy('at', 'value') -> "
        "Window.partitionBy(*LOG).orderBy('at')",
    ),
}
