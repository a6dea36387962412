"""The evidence from which causes are derived, collected by Spark: one small job, and only for runs with findings."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from pyspark.sql import Row
from pyspark.sql import functions as F

from analyzers.causes.derive import derive
from analyzers.causes.evidence import Change, Extent, RunEvidence, Sample
from analyzers.history.fault_events import FaultEvent
from analyzers.history.incarnations import sql_literal
from analyzers.history.load import History
from analyzers.verdict.cause import Cause

MOST_CHANGES = 20_000
"""Changes of one run that are collected; a run with more has causes derived from those nearest to its findings."""


@dataclass(kw_only=True)
class Changes:
    """Where a broker's view of a partition changed, or its log became shorter, in one run."""

    by_log: dict[str, list[Change]] = field(default_factory=dict)
    """In order of time."""
    left_out: int = 0
    """The number of changes that were not collected, because there were too many."""

    def doubts(self) -> Iterator[str]:
        if self.left_out:
            kept = sum(len(each) for each in self.by_log.values())
            yield (
                f"The causes are derived from the {kept:,} changes of leaders, ISRs and logs that lie nearest to the "
                f"findings; {self.left_out:,} others were left out."
            )


def changes_of(history: History, extents: Mapping[str, Sequence[Extent]]) -> dict[str, Changes]:
    """By run.

    extents  of the findings of each run. Runs without are left out.
    """
    runs = sorted(run for run, of_run in extents.items() if of_run)
    if not runs:
        return {}
    confined = history.observations.where(F.col("run").isin(*runs))
    session = confined.sparkSession
    values = ", ".join(_spans(extents)) or "('', '', 0, 0L, 0L)"
    spans = session.sql(
        f"select * from values {values} as t (run, topic, partition, first_found, last_found)"
    )
    rows = session.sql(_CHANGES, args={"most": MOST_CHANGES}, observations=confined, spans=spans).collect()
    rows.sort(key=lambda row: (row.time, row.node))
    found: dict[str, Changes] = {}
    for row in rows:
        change = Change(before=_sample(row.before), after=_known(row))
        of_run = found.setdefault(row.run, Changes(left_out=max(0, row.total - MOST_CHANGES)))
        of_run.by_log.setdefault(f"{row.topic}-{row.partition}", []).append(change)
    return found


def _spans(extents: Mapping[str, Sequence[Extent]]) -> Iterator[str]:
    """SQL of rows: run, topic, partition, and when its findings were seen first and last."""
    logs: dict[tuple[str, str, int], tuple[int, int]] = {}
    for run, of_run in extents.items():
        for each in of_run:
            if each.topic is None or each.partition is None or each.first is None or each.last is None:
                continue
            key = (run, each.topic, each.partition)
            first, last = logs.get(key, (each.first, each.last))
            logs[key] = (min(first, each.first), max(last, each.last))
    for (run, topic, partition), (first, last) in sorted(logs.items()):
        yield f"({sql_literal(run)}, {sql_literal(topic)}, {partition}, {first}L, {last}L)"


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
_CHANGES = """
    with seen as (
        select run, topic, partition, node, time, leader, leader_epoch, array_sort(isr) as isr, high_watermark,
            log_end, last(log_end, true) over before as last_end,
            lag(struct(node, time, leader, leader_epoch, array_sort(isr) as isr, high_watermark)) over line as last
        from {observations} where kind = 'partition' and node is not null
        window line as (partition by run, topic, partition, node order by time),
            before as (
                partition by run, topic, partition, node order by time
                rows between unbounded preceding and 1 preceding
            )
    ), changed as (
        select * from seen
        where last is null or log_end < last_end or leader is distinct from last.leader
            or leader_epoch is distinct from last.leader_epoch or isr is distinct from last.isr
    ), ranked as (
        select changed.*, count(*) over (partition by run) as total, row_number() over (
            partition by run
            order by if(first_found is null, null, greatest(first_found - time, time - last_found, 0)) nulls last,
                time, node, topic, partition
        ) as rank
        from changed left join {spans} using (run, topic, partition)
    )
    select run, topic, partition, node, time, leader, leader_epoch, isr, high_watermark, log_end, total,
        if(last is null, null, struct(
            last.node, last.time, last.leader, last.leader_epoch, last.isr, last.high_watermark, last_end as log_end
        )) as before
    from ranked where rank <= :most
"""
