"""How long changes of leaders took to reach all brokers: measured for runs with a change of a leader."""

from __future__ import annotations

from collections.abc import Collection, Iterable

from pyspark.sql import Row

from analyzers.facts.replicas import LATE
from analyzers.history.load import History
from analyzers.verdict.propagation import Propagation


def spread(history: History) -> list[Row]:
    """One row for each run with a change of a leader that two brokers came to name. One Spark job."""
    return history.rows(_STATEMENT)


def propagations(rows: Iterable[Row], runs: Collection[str]) -> dict[str, Propagation]:
    """By run id, of those of `runs`. rows: as `spread` returns them."""
    return {
        row.run: Propagation(
            changes=row.changes,
            open=row.open,
            median=_s(row.quantiles[0]) if row.quantiles else None,
            percentile_90=_s(row.quantiles[1]) if row.quantiles else None,
            longest=_s(row.longest.lasting) if row.longest else None,
            topic=row.longest.topic if row.longest else None,
            partition=row.longest.partition if row.longest else None,
            leader_epoch=row.longest.leader_epoch if row.longest else None,
            node=row.longest.node if row.longest else None,
        )
        for row in rows
        if row.run in runs
    }


def _s(time: int) -> float:
    return time / 1e9


_STATEMENT = f"""
    with samples as (
        select run, topic, partition, node, asked, time, leader_epoch, lag(time) over line as before,
            max(leader_epoch) over (
                partition by run, topic, partition, node order by time
                rows between unbounded preceding and 1 preceding
            ) as known
        from {{observations}} where kind = 'partition'
        window line as (partition by run, topic, partition, node order by time)
    ), named as (
        select run, topic, partition, leader_epoch, min(time) as first
        from samples group by run, topic, partition, leader_epoch
    ), learned as (
        select samples.*, asked - before <= {LATE} as is_present from samples where known < leader_epoch
    ), reached as (
        select run, topic, partition, named.leader_epoch, first, node, time
        from named join learned using (run, topic, partition)
        where known < named.leader_epoch and named.leader_epoch <= learned.leader_epoch and is_present
    ), ends as (
        select run, topic, partition, node, max(asked) as until, max(leader_epoch) as newest
        from samples group by run, topic, partition, node
    ), oldest as (
        select run, topic, partition, min(newest) as oldest
        from (select *, max(until) over (partition by run, topic, partition) as ended from ends)
        where until >= ended - {LATE} group by run, topic, partition
    ), changes as (
        select run, topic, partition, leader_epoch, max(time) - first as lasting, max_by(node, time) as node
        from reached group by run, topic, partition, leader_epoch, first having count(*) > 1
    ), judged as (
        select changes.*, leader_epoch > oldest as is_open from changes join oldest using (run, topic, partition)
    )
    select run, count(*) as changes, count_if(is_open) as open,
        percentile_approx(lasting, array(0.5, 0.9)) filter (where not is_open) as quantiles,
        max(struct(lasting, topic, partition, leader_epoch, node)) filter (where not is_open) as longest
    from judged group by run
"""
