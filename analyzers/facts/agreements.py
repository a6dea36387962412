"""Per log: whether all brokers agreed about it at the end."""

from __future__ import annotations

from pyspark.sql import DataFrame

from analyzers.facts.fact import SAMPLES, fact
from analyzers.history.load import History

LATE = 2_000_000_000
"""ns. A broker whose last answer was requested longer before the last one of all is left out: it was away."""


@fact(needs=SAMPLES)
def agreements(history: History) -> DataFrame:
    """One row per log that two or more brokers described at the end.

    Columns: oldest and newest: the lowest and the highest leader epoch in the last answers of the brokers; behind:
    the broker with the lowest one; time (ns): when the last of them had begun to report its epoch; lasting (ns): for
    how long each had reported the same one since.
    """
    return history.sql(f"""
        with viewed as (
            select *, lag(leader_epoch) over (partition by run, topic, partition, node order by time) as before
            from {{observations}} where kind = 'partition'
        ), by_node as (
            select run, topic, partition, node, max(asked) as until, max_by(leader_epoch, time) as epoch,
                max(time) filter (where before is null or before <> leader_epoch) as since
            from viewed group by run, topic, partition, node
        ), lasting as (
            select *, max(until) over (partition by run, topic, partition) as ended from by_node
        )
        select run, topic, partition, min(epoch) as oldest, max(epoch) as newest,
            min_by(node, struct(epoch, node)) as behind, max(since) as time, min(until) - max(since) as lasting
        from lasting where until >= ended - {LATE} group by run, topic, partition having count(*) > 1
    """)
