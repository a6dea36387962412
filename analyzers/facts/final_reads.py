"""Per log, the completed final read that counts."""

from __future__ import annotations

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from analyzers.facts.columns import LOG


def final_reads(operations: DataFrame) -> DataFrame:
    """One row per log that was read to its end: the last such read.

    Columns: final_process, final_invoked (ns), final_start, final_end (offsets, the end exclusive).
    """
    read = "struct(completed, invoked, process, start_offset, end_offset)"
    return (
        operations.where("f = 'final-read' and type = 'ok'")
        .groupBy(*LOG)
        .agg(F.expr(f"max({read})").alias("last"))
        .selectExpr(
            *LOG,
            "last.process as final_process",
            "last.invoked as final_invoked",
            "coalesce(last.start_offset, 0) as final_start",
            "last.end_offset as final_end",
        )
    )
