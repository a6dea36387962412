"""The evidence from which causes are derived, collected by Spark: one small job, and only for runs with findings."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

from pyspark.sql import Row
from pyspark.sql import functions as F

from analyzers.causes.derive import derive
from analyzers.causes.evidence import Change, Extent, RunEvidence, Sample
from analyzers.history.fault_events import FaultEvent
from analyzers.history.load import History
from analyzers.verdict.cause import Cause

MOST_CHANGES = 20_000
"""Changes of one run that are collected; a run with more has causes derived from the first ones."""


def changes_of(history: History, runs: Collection[str]) -> dict[str, dict[str, list[Change]]]:
    """By run and log, in order of time: where a broker's view of a partition changed, or its log became shorter."""
    if not runs:
        return {}
    confined = history.observations.where(F.col("run").isin(*sorted(runs)))
    rows = confined.sparkSession.sql(_CHANGES, observations=confined).collect()
    rows.sort(key=lambda row: (row.time, row.node))
    found: dict[str, dict[str, list[Change]]] = {}
    for row in rows:
        change = Change(before=_sample(row.before), after=_known(row))
        found.setdefault(row.run, {}).setdefault(f"{row.topic}-{row.partition}", []).append(change)
    return found


def causes_of(
    extents: Sequence[Extent],
    changes: Mapping[str, list[Change]],
    events: Sequence[FaultEvent],
    began: int | None,
    clients: Mapping[int, str],
) -> tuple[Cause, ...]:
    """The causes of one run's findings; none without findings."""
    if not extents:
        return ()
    return derive(
        RunEvidence(began=began, extents=extents, changes=dict(changes), events=events, clients=clients)
    )


def _sample(row: Row | None) -> Sample | None:
    return None if row is None or row.time is None else _known(row)


def _known(row: Row) -> Sample:
    return Sample(
        time=row.time,
        node=row.node,
        leader=-1 if row.leader is None else row.leader,
        epoch=-1 if row.leader_epoch is None else row.leader_epoch,
        isr=tuple(row.isr or ()),
        high_watermark=row.high_watermark,
        log_end=row.log_end,
    )


# A broker that has just restarted may answer without offsets: the last known log end is compared.
_CHANGES = f"""
    with seen as (
        select run, topic, partition, node, time, leader, leader_epoch, array_sort(isr) as isr, high_watermark,
            log_end, last(log_end, true) over before as last_end,
            lag(struct(node, time, leader, leader_epoch, array_sort(isr) as isr, high_watermark)) over line as last
        from {{observations}} where kind = 'partition' and node is not null
        window line as (partition by run, topic, partition, node order by time),
            before as (
                partition by run, topic, partition, node order by time
                rows between unbounded preceding and 1 preceding
            )
    )
    select run, topic, partition, node, time, leader, leader_epoch, isr, high_watermark, log_end,
        if(last is null, null, struct(
            last.node, last.time, last.leader, last.leader_epoch, last.isr, last.high_watermark, last_end as log_end
        )) as before
    from seen
    where last is null or log_end < last_end or leader is distinct from last.leader
        or leader_epoch is distinct from last.leader_epoch or isr is distinct from last.isr
    limit {MOST_CHANGES}
"""
