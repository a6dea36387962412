"""Mutants of `analyzers.facts.commit_reaches` that no history can tell from the original, by the reason for that."""

from __future__ import annotations

BY_REASON: dict[str, tuple[str, ...]] = {
    "the record next below a position that the group had reached lies below what it had reached": (
        "_commits_above: f'kind = {COMMITS} and reached < offset' -> f'kind = {COMMITS} and reached <= "
        "offset'",
        "_commits_above: f'kind = {COMMITS} and reached < offset' -> f' kind = {COMMITS} '",
    ),
    "no record lies below a commit of another log": (
        "commit_reaches: without_compacted(polled, history).join(F.broadcast(above.select(*LOG)), LOG, "
        "'left_semi') -> without_compacted(polled, history)",
    ),
    "the rows that come on top lack a column that every check compares, so that no check counts them": (
        "commit_reaches: above.unionByName(records, allowMissingColumns=True).withColumn('any', "
        "F.max('record').over(line)).withColumn('careful_one', "
        "F.max('committed_record').over(line)).where('op is not null') -> above.unionByName(records, "
        "allowMissingColumns=True).withColumn('any', F.max('record').over(line)).withColumn('careful_one', "
        "F.max('committed_record').over(line))",
    ),
    "the rows that come on top have no offset above what was reached": (
        "_commits_above: made.unionByName(got, allowMissingColumns=True).withColumn('reached', "
        "F.max('reached').over(line)).where(f'kind = {COMMITS} and reached < offset') -> "
        "made.unionByName(got, allowMissingColumns=True).withColumn('reached', F.max('reached').over(line))",
        "_commits_above: f'kind = {COMMITS} and reached < offset' -> f' reached < offset '",
    ),
    "null is equal to nothing, above nothing, and the least in an order": (
        "_commits_above: oked as at', 'start_offset as reached')).withColumn('kind', F.lit(REACHES)) -> "
        "oked as at', 'start_offset as reached'))",
    ),
    "an ok commit has completed": (
        "_commits_above: \"type = 'ok' and completed is not null\" -> \" type = 'ok' \"",
    ),
    "the row itself holds nothing of what is aggregated": (
        "_commits_above: Window.partitionBy(*GROUP_LOG).orderBy('at', 'kind').rowsBetween(UNBOUNDED, 0) -> "
        "Window.partitionBy(*GROUP_LOG).orderBy('at', 'kind').rowsBetween(UNBOUNDED, -1)",
    ),
}
