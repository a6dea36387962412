"""The evidence from which causes are derived, collected by Spark: small jobs, and only for runs with findings."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TypeVar

from pyspark.sql import Row

from analyzers.causes.application import Application
from analyzers.causes.cuts import PROOF
from analyzers.causes.evidence import Assignment, Change, EpochStart, Extent, Sample, Source
from analyzers.causes.explainers.clients_and_settings import BY_CLIENTS
from analyzers.causes.explainers.group_handover import HANDOVER as OF_GROUPS
from analyzers.causes.explainers.stale_reads import OF_FOLLOWERS
from analyzers.facts.members import events
from analyzers.history.fault_events import FaultEvent
from analyzers.history.load import History
from analyzers.judge.applications import applications
from analyzers.spark.statements import sql_literal

MOST_CHANGES = 20_000
"""Changes of one run that are collected; a run with more has causes derived from those nearest to its findings."""


OF_CLIENTS = BY_CLIENTS.explains

T = TypeVar("T")


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


@dataclass(frozen=True, kw_only=True)
class Collected:
    """Of one run. By log, in order of time."""

    changes: Changes = field(default_factory=Changes)
    sources: Mapping[str, list[Source]] = field(default_factory=dict)
    assignments: Sequence[Assignment] = ()
    epochs: Mapping[str, list[EpochStart]] = field(default_factory=dict)
    application: Application | None = None


def collect(history: History, extents: Mapping[str, Sequence[Extent]]) -> dict[str, Collected]:
    """By run.

    extents  of the findings of each run. Runs without are left out.
    """
    found = {run: {each.anomaly for each in of_run} for run, of_run in extents.items() if of_run}
    changes = _changes(history, {run: extents[run] for run in found})
    sources = _sources(history, [run for run, names in found.items() if OF_FOLLOWERS & names])
    assignments = _assignments(
        history, [run for run, names in found.items() if (OF_GROUPS | OF_CLIENTS) & names]
    )
    unseen = {
        run: _without_samples(extents[run], changes.get(run, Changes()))
        for run, names in found.items()
        if not names.isdisjoint(PROOF)
    }
    epochs = _epochs(history, {run: logs for run, logs in unseen.items() if logs})
    known = applications(history, {run: extents[run] for run in found})
    return {
        run: Collected(
            changes=changes.get(run, Changes()),
            sources=sources.get(run, {}),
            assignments=assignments.get(run, ()),
            epochs=epochs.get(run, {}),
            application=known.get(run),
        )
        for run in found
    }


def _changes(history: History, extents: Mapping[str, Sequence[Extent]]) -> dict[str, Changes]:
    """By run."""
    runs = sorted(extents)
    if not runs:
        return {}
    confined = history.of_runs(runs).observations
    session = confined.sparkSession
    values = ", ".join(_spans(extents)) or "('', '', 0, 0L, 0L)"
    spans = session.sql(
        f"select * from values {values} as t (run, topic, partition, first_found, last_found)"
    )
    rows = session.sql(_CHANGES, args={"most": MOST_CHANGES}, observations=confined, spans=spans).collect()
    rows.sort(key=lambda row: (row.time, row.node))
    left_out = {row.run: max(0, row.total - MOST_CHANGES) for row in rows}
    by_run = _by_log(rows, lambda row: Change(before=_sample(row.before), after=_known(row)))
    return {run: Changes(by_log=by_log, left_out=left_out[run]) for run, by_log in by_run.items()}


def _by_log(rows: Iterable[Row], value: Callable[[Row], T]) -> dict[str, dict[str, list[T]]]:
    """The values of rows with run, topic and partition, by run and log, in their order."""
    by_run: dict[str, dict[str, list[T]]] = {}
    for row in rows:
        by_run.setdefault(row.run, {}).setdefault(f"{row.topic}-{row.partition}", []).append(value(row))
    return by_run


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


def _sources(history: History, runs: Collection[str]) -> dict[str, dict[str, list[Source]]]:
    """By run and log, in order of time: where another broker than before served a client that reads for a session."""
    if not runs:
        return {}
    rows = sorted(history.of_runs(runs).sql(_SOURCES).collect(), key=lambda row: (row.time, row.process))
    return _by_log(rows, lambda row: Source(time=row.time, process=row.process, node=row.node))


def _without_samples(extents: Sequence[Extent], changes: Changes) -> list[tuple[str, int]]:
    """The logs that were cut, by what was found, and of which no broker was sampled."""
    return sorted(
        {
            (each.topic, each.partition)
            for each in extents
            if each.anomaly in PROOF
            and each.topic is not None
            and each.partition is not None
            and each.log not in changes.by_log
        }
    )


def _epochs(
    history: History, logs: Mapping[str, Sequence[tuple[str, int]]]
) -> dict[str, dict[str, list[EpochStart]]]:
    """By run and log: where each leader epoch begins, among the records that clients got."""
    if not logs:
        return {}
    wanted = ", ".join(
        f"({sql_literal(run)}, {sql_literal(topic)}, {partition})"
        for run, of_run in sorted(logs.items())
        for topic, partition in of_run
    )
    rows = history.of_runs(sorted(logs)).sql(_EPOCHS.replace(":logs", wanted)).collect()
    rows.sort(key=lambda row: row.leader_epoch)
    return _by_log(rows, lambda row: EpochStart(epoch=row.leader_epoch, offset=row.offset, time=row.time))


def _assignments(history: History, runs: Collection[str]) -> dict[str, list[Assignment]]:
    """By run, in order of time."""
    found: dict[str, list[Assignment]] = defaultdict(list)
    if not runs:
        return found
    rows = events(history.of_runs(runs)).where("event = 'assigned'").collect()
    for row in sorted(rows, key=lambda row: (row.completed, row.op)):
        if row.topic is not None:
            assignment = Assignment(
                time=row.completed,
                process=row.process,
                log=f"{row.topic}-{row.partition}",
                group=row.group,
                generation=row.generation,
                start=row.start_offset,
                policy=row.policy,
            )
            found[row.run].append(assignment)
    return found


def boundaries_of(faults: Sequence[FaultEvent]) -> list[int]:
    """ns, in order of time: when each fault began. It explains no finding before, and a log may be cut after each."""
    return sorted(each.began for each in faults if each.began is not None)


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

_EPOCHS = """
    with begun as (
        select run, topic, partition, leader_epoch, min(offset) as offset, min_by(value, offset) as value
        from {records}
        where f = 'poll' and leader_epoch is not null and offset is not null
            and (run, topic, partition) in (select * from values :logs as logs (run, topic, partition))
        group by run, topic, partition, leader_epoch
    )
    select begun.run, begun.topic, begun.partition, begun.leader_epoch, begun.offset, min(sent.invoked) as time
    from begun join {records} as sent on sent.f = 'send' and sent.run = begun.run and sent.value = begun.value
    group by all
"""

_SOURCES = f"""
    with answered as (
        select run, topic, partition, process, fetched as time, offset, node from {{records}}
        where f = 'poll' and fetched is not null and (run, process) in (
            select run, process from {{operations}} where f = 'read'
        )
        union all
        select run, topic, partition, process, completed, end_offset,
            cast(get_json_object(value, '$.node') as int) as node
        from {{operations}} where f = 'read' and type = 'ok'
    ), served as (
        select *, lag(node) over (partition by run, topic, partition, process order by time, offset) as last
        from answered where node is not null
    )
    select run, topic, partition, process, time, node from served where last is null or node <> last
    limit {MOST_CHANGES}
"""
