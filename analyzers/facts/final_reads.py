"""Per log: the completed final read that counts."""

from __future__ import annotations

from pyspark.sql import DataFrame

from analyzers.history.load import History

FINAL_READS = """
    final_reads as (
        select run, topic, partition, last.process as final_process, last.invoked as final_invoked,
            coalesce(last.start_offset, 0) as final_start, last.end_offset as final_end,
            coalesce(get_json_object(last.value, '$.committed') = 'true', false) as final_committed
        from (
            select run, topic, partition,
                max(struct(completed, invoked, process, start_offset, end_offset, value)) as last
            from {operations} where f = 'final-read' and type = 'ok' group by run, topic, partition
        )
    )
"""
"""A common table expression."""


def final_reads(history: History) -> DataFrame:
    """One row per log that was read to its end: the last such read.

    Columns: final_process, final_invoked (ns), final_start, final_end (offsets, the end exclusive), final_committed
    (whether it is recorded to have read with read_committed).
    """
    return history.shared_sql(f"with {FINAL_READS} select * from final_reads")
