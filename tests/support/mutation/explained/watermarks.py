"""Mutants of `analyzers.facts.watermarks` that no history can tell from the original, by the reason for that."""

from __future__ import annotations

BY_REASON: dict[str, tuple[str, ...]] = {
    "the rows that come on top lack a column that every check compares, so that no check counts them": (
        "watermarks: moments.withColumn('before', F.max('answered').over(line)).where('sample is not null') -> "
        "moments.withColumn('before', F.max('answered').over(line))",
    ),
}
