"""Mutants of `analyzers.facts.handovers` that no history can tell from the original, by the reason for that."""

from __future__ import annotations

BY_REASON: dict[str, tuple[str, ...]] = {
    "no offset lies between a position and one that is not below it": (
        "_assignments_above: 'reached < position' -> 'reached <= position'",
        "_assignments_above: , F.expr(f'coalesce(reached, {first})')).where('reached < position') -> , "
        "F.expr(f'coalesce(reached, {first})'))",
    ),
    "what was reached has no op, and null is the least in an order": (
        "_assignments_above: Window.partitionBy(*GROUP_LOG).orderBy('time', 'kind', 'op') -> "
        "Window.partitionBy(*GROUP_LOG).orderBy('time', 'op')",
        "_assignments_above: reaches(history).selectExpr(*GROUP_LOG, 'known as time', "
        "'reached').withColumn('kind', F.lit(REACHES)) -> reaches(history).selectExpr(*GROUP_LOG, 'known as "
        "time', 'reached')",
    ),
    (
        "the rows that come on top have neither a policy nor a commit before them, so that no check counts "
        "them"
    ): (
        "_assignments_above: began.unionByName(earlier, allowMissingColumns=True).withColumn('position', "
        "F.col('reached')).withColumn('reached', F.max('reached').over(line)).where(f'kind = {BEGINS}') -> "
        "began.unionByName(earlier, allowMissingColumns=True).withColumn('position', "
        "F.col('reached')).withColumn('reached', F.max('reached').over(line))",
    ),
}
