"""Mutants of `analyzers.facts.ownerships` that no history can tell from the original, by the reason for that."""

from __future__ import annotations

BY_REASON: dict[str, tuple[str, ...]] = {
    "an assignment that was in force until it began, or not at all, overlaps no later one": (
        "ownerships: 'proof >= began and accepted <= coalesce(ending, accepted)' -> ' accepted <= "
        "coalesce(ending, accepted) '",
        "ownerships: 'proof >= began and accepted <= coalesce(ending, accepted)' -> 'proof > began and "
        "accepted <= coalesce(ending, accepted)'",
        "ownerships: f'if({AT_ONCE} and coalesce(next = process, true), ending, coalesce(proof, began))' "
        "-> f'if({AT_ONCE} and coalesce(next = process, true), ending, coalesce(proof))'",
    ),
    "the row itself holds nothing of what is aggregated": (
        "_accepted: Window.partitionBy(*GROUP_LOG).orderBy('proof', 'kind').rowsBetween(UNBOUNDED, 0) -> "
        "Window.partitionBy(*GROUP_LOG).orderBy('proof', 'kind').rowsBetween(UNBOUNDED, -1)",
    ),
    "Spark keeps the order of a union, in which rows of one time already have the order that is asked for": (
        "_accepted: Window.partitionBy(*GROUP_LOG).orderBy('proof', 'kind') -> "
        "Window.partitionBy(*GROUP_LOG).orderBy('proof')",
    ),
    "Spark has sorted the rows by op for the window before, and keeps that order": (
        "ownerships: ['began', 'until', 'op'] -> ['began', 'until']",
    ),
    "the rows that come on top have no process, by which the commits are joined": (
        "_accepted: made.unionByName(assigned, allowMissingColumns=True).withColumn('newest', "
        "F.max('newest').over(line)).where(f'kind = {COMMITS}') -> made.unionByName(assigned, "
        "allowMissingColumns=True).withColumn('newest', F.max('newest').over(line))",
    ),
}
