"""Mutants of `analyzers.facts.session_sends` that no history can tell from the original, by the reason for that."""

from __future__ import annotations

BY_REASON: dict[str, tuple[str, ...]] = {
    "the rows that come on top lack a column that every check compares, so that no check counts them": (
        "session_sends: begun.unionByName(done, allowMissingColumns=True).withColumn('reading', "
        "F.max('reading').over(line)).withColumn('writing', F.max('writing').over(line)).where(f'kind = "
        "{BEGINS}') -> begun.unionByName(done, allowMissingColumns=True).withColumn('reading', "
        "F.max('reading').over(line)).withColumn('writing', F.max('writing').over(line))",
        "session_sends: f\"offset is not null and (f = 'poll' or ({ACKED}))\" -> f\" (f = 'poll' or "
        '({ACKED})) "',
    ),
    "the row itself holds nothing of what is aggregated": (
        "session_sends: Window.partitionBy(*key).orderBy('at', "
        "'kind').rowsBetween(Window.unboundedPreceding, 0) -> Window.partitionBy(*key).orderBy('at', "
        "'kind').rowsBetween(Window.unboundedPreceding, -1)",
    ),
    "Spark keeps the order of a union, in which rows of one time already have the order that is asked for": (
        "session_sends: Window.partitionBy(*key).orderBy('at', 'kind') -> "
        "Window.partitionBy(*key).orderBy('at')",
    ),
}
