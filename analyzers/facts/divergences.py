"""Partitions of which in-sync replicas were not the same after the load."""

from __future__ import annotations

from pyspark.sql import DataFrame

from analyzers.facts.fact import fact
from analyzers.history.load import History


@fact(needs="divergence")
def divergences(history: History) -> DataFrame:
    """One row per partition with a difference.

    Columns: time (ns, when it was known), offset (the first one), different (number of offsets), copies (JSON: the
    record of each node at that offset, see `workloads.history.schema`).
    """
    return history.sql("""
        select run, topic, partition, completed as time, start_offset as offset,
            cast(get_json_object(value, '$.different') as bigint) as different,
            get_json_object(value, '$.copies') as copies
        from {operations} where f = 'divergence'
    """)
