"""Mutants of `analyzers.facts.leader_polls` that no history can tell from the original, by the reason for that."""

from __future__ import annotations

BY_REASON: dict[str, tuple[str, ...]] = {
    "the rows that come on top lack a column that every check compares, so that no check counts them": (
        "leader_polls: \"f = 'poll' and offset is not null and node is not null\" -> \" f = 'poll' and "
        'node is not null "',
        "leader_polls: history.records.where(\"f = 'poll' and offset is not null and node is not null\") "
        "-> history.records",
        "leader_polls: polls.unionByName(answers, allowMissingColumns=True).withColumn('watermark', "
        "F.min('high_watermark').over(later)).where('op is not null') -> polls.unionByName(answers, "
        "allowMissingColumns=True).withColumn('watermark', F.min('high_watermark').over(later))",
    ),
    "only polls have the column": (
        "leader_polls: \"f = 'poll' and offset is not null and node is not null\" -> ' offset is not "
        "null and node is not null '",
    ),
    "null is equal to nothing, above nothing, and the least in an order": (
        "leader_polls: \"f = 'poll' and offset is not null and node is not null\" -> \" f = 'poll' and "
        'offset is not null "',
        "leader_polls: 'at is not null and high_watermark is not null' -> ' at is not null '",
        "leader_polls: 'at is not null and high_watermark is not null' -> ' high_watermark is not null '",
        "leader_polls: answers_of_leaders(history).selectExpr(*LOG, 'node', 'leader_epoch', 'asked as at', "
        "'high_watermark').where('at is not null and high_watermark is not null') -> "
        "answers_of_leaders(history).selectExpr(*LOG, 'node', 'leader_epoch', 'asked as at', 'high_watermark')",
    ),
}
