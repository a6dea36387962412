"""Mutants of `analyzers.facts.handovers` that no history can tell from the original, by the reason for that."""

from __future__ import annotations

BY_REASON: dict[str, tuple[str, ...]] = {
    "no offset lies between a position and one that is not below it": (
        "handovers: 'reached < position' -> 'reached <= position'",
        "handovers: _gaps(history).where('reached < position') -> _gaps(history)",
    ),
    "what was reached has no op, and null is the least in an order": (
        "_gaps: Window.partitionBy(*GROUP_LOG).orderBy('time', 'kind', 'op') -> "
        "Window.partitionBy(*GROUP_LOG).orderBy('time', 'op')",
        "_gaps: reaches(history).selectExpr(*GROUP_LOG, 'known as time', 'reached').withColumn('kind', "
        "F.lit(REACHES)) -> reaches(history).selectExpr(*GROUP_LOG, 'known as time', 'reached')",
    ),
    (
        "the rows that come on top have neither a policy nor a commit before them, so that no check "
        "counts them"
    ): (
        "_gaps: began.unionByName(earlier, allowMissingColumns=True).withColumn('position', "
        "F.col('reached')).withColumn('reached', F.max('reached').over(line)).where(f'kind = {BEGINS}') "
        "-> began.unionByName(earlier, allowMissingColumns=True).withColumn('position', "
        "F.col('reached')).withColumn('reached', F.max('reached').over(line))",
    ),
}
