"""Mutants of `analyzers.facts.session_reads` that no history can tell from the original, by the reason for that."""

from __future__ import annotations

BY_REASON: dict[str, tuple[str, ...]] = {
    "the rows that come on top lack a column that every check compares, so that no check counts them": (
        "session_reads: 'reached', F.max('reached').over(sofar)).where(f'kind = {BEGINS}') -> 'reached', "
        "F.max('reached').over(sofar))",
    ),
    "the row itself holds nothing of what is aggregated": (
        "session_reads: Window.partitionBy(*key).orderBy('at', "
        "'kind').rowsBetween(Window.unboundedPreceding, 0) -> Window.partitionBy(*key).orderBy('at', "
        "'kind').rowsBetween(Window.unboundedPreceding, -1)",
    ),
}
