"""Mutants of `analyzers.facts.group_commits` that no history can tell from the original, by the reason for that."""

from __future__ import annotations

BY_REASON: dict[str, tuple[str, ...]] = {
    "an ok commit has completed": (
        "group_commits: \"type = 'ok' and completed is not null\" -> \" type = 'ok' \"",
    ),
    "Spark keeps the order of a union, in which rows of one time already have the order that is asked for": (
        "group_commits: Window.partitionBy(*GROUP_LOG).orderBy('invoked', 'kind') -> "
        "Window.partitionBy(*GROUP_LOG).orderBy('invoked')",
    ),
    "the row itself holds nothing of what is aggregated": (
        "group_commits: Window.partitionBy(*GROUP_LOG).orderBy('invoked', 'kind').rowsBetween(UNBOUNDED, "
        "0) -> Window.partitionBy(*GROUP_LOG).orderBy('invoked', 'kind').rowsBetween(UNBOUNDED, -1)",
    ),
    "null is equal to nothing, above nothing, and the least in an order": (
        "group_commits: assignments(history).where('generation is not null') -> assignments(history)",
    ),
    "the rows that come on top lack a column that every check compares, so that no check counts them": (
        "group_commits: made.unionByName(assigned, allowMissingColumns=True).withColumn('newest', "
        "F.max('newest').over(line)).where(f'kind = {COMMITS}') -> made.unionByName(assigned, "
        "allowMissingColumns=True).withColumn('newest', F.max('newest').over(line))",
    ),
}
