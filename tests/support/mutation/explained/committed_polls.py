"""Mutants of `analyzers.facts.committed_polls` that no history can tell from the original, by the reason for that."""

from __future__ import annotations

BY_REASON: dict[str, tuple[str, ...]] = {
    "the rows that come on top lack a column that every check compares, so that no check counts them": (
        'committed_polls: "f = \'poll\' and coalesce(committed, false) and offset is not null" -> " f = '
        "'poll' and coalesce(committed, false) \"",
        "committed_polls: polls.unionByName(answers, allowMissingColumns=True).withColumn('last_stable', "
        "F.min('last_stable').over(later)).where('op is not null') -> polls.unionByName(answers, "
        "allowMissingColumns=True).withColumn('last_stable', F.min('last_stable').over(later))",
    ),
    "only polls have the column": (
        "committed_polls: \"f = 'poll' and coalesce(committed, false) and offset is not null\" -> ' "
        "coalesce(committed, false) and offset is not null '",
    ),
    "null is equal to nothing, above nothing, and the least in an order": (
        "committed_polls: 'last_stable is not null and high_watermark >= least_end' -> ' high_watermark "
        ">= least_end '",
        "committed_polls: Expr(*LOG, 'asked as at', 'last_stable').where('at is not null') -> Expr(*LOG, "
        "'asked as at', 'last_stable')",
    ),
}
