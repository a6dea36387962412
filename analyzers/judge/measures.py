"""Times that Spark measures, whether or not a bound is stated: how long clients waited and applications stood still,
how late sessions read what they had written, and how long changes of leaders took to reach all brokers."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from pyspark.sql import Row

from analyzers.facts.availability import ASKS, GRAIN, RECOVERIES, WAITED
from analyzers.facts.fact import ACKED
from analyzers.facts.pipelines import standstills
from analyzers.facts.replicas import LATE
from analyzers.facts.sessions import session_writes
from analyzers.history.load import History
from analyzers.history.run_progress import parse
from analyzers.judge.tally import Tally
from analyzers.verdict.measures import (
    Availability,
    LogAvailability,
    PhaseAvailability,
    Propagation,
    Staleness,
    Standstill,
)
from workloads.history.schema import HARNESS

LATENCY = "completed - coalesce(intended, invoked)"
"""From when the send was due: a client that waits for brokers invokes the next sends later."""

BEFORE = "start"
"""The name of the time before the first recorded phase."""


def measure(history: History) -> list[Row]:
    """The input of `availabilities`, in one Spark job."""
    return history.rows(_AVAILABILITY)


def availabilities(rows: Sequence[Row], began: Mapping[str, int | None]) -> dict[str, Availability]:
    """By run id, for every run with a send or a poll.

    rows   the result of `measure`.
    began  time of each run's first operation, ns.
    """
    by_run: dict[str, list[Row]] = {}
    for row in rows:
        by_run.setdefault(row.run, []).append(row)
    return {run: _availability(of_run, began.get(run)) for run, of_run in by_run.items()}


def _availability(rows: list[Row], began: int | None) -> Availability:
    logs = sorted((row.log for row in rows if row.log), key=lambda log: (log.topic, log.partition))
    phases = sorted((row.phase for row in rows if row.phase), key=lambda phase: phase.since)
    return Availability(
        logs=tuple(
            LogAvailability(
                topic=log.topic,
                partition=log.partition,
                longest_wait=_s(log.lasted) or 0.0,
                began=None if log.began is None or began is None else _s(log.began - began),
                recovery=_s(log.recovered),
            )
            for log in logs
        ),
        phases=tuple(
            PhaseAvailability(
                phase=phase.phase,
                sends=phase.sends,
                errors=phase.errors,
                latency_median=_s(phase.quantiles[0]) if phase.quantiles else None,
                latency_99=_s(phase.quantiles[1]) if phase.quantiles else None,
                latency_worst=_s(phase.worst),
                skipped=phase.skipped,
            )
            for phase in phases
        ),
        worst_lag=next((_s(row.lag) for row in rows if row.lag is not None), None),
    )


def _s(time: int | None) -> float | None:
    return None if time is None else time / 1e9


_AVAILABILITY = f"""
    with {ASKS}, {WAITED}, {RECOVERIES}, longest as (
        select run, topic, partition,
            max(if(began < ended, struct(ended - began as lasted, -began as earlier), null)) as most
        from waited group by run, topic, partition
    ), phases as (
        select run, array_sort(collect_list(struct(since, phase, then_skipped - skipped as skipped))) as phases
        from (
            select *, lead(skipped) over (partition by run order by since) as then_skipped
            from (
                select run, invoked as since, get_json_object(value, '$.phase') as phase,
                    cast(get_json_object(value, '$.skipped') as bigint) as skipped
                from {{operations}} where process = {HARNESS} and f = 'phase'
            )
        ) group by run
    ), sends as (
        select /*+ BROADCAST(phases) */ *, try_element_at(filter(phases, p -> p.since <= invoked), -1) as now
        from (select * from {{records}} where f = 'send') left join phases using (run)
    ), by_phase as (
        select run, coalesce(now.since, -1) as since, coalesce(now.phase, '{BEFORE}') as phase, count(*) as sends,
            count_if(type <> 'ok') as errors,
            percentile_approx({LATENCY}, array(0.5, 0.99)) filter (where {ACKED}) as quantiles,
            max({LATENCY}) filter (where {ACKED}) as worst, max(now.skipped) as skipped
        from sends group by run, coalesce(now.since, -1), coalesce(now.phase, '{BEFORE}')
    ), acks as (
        select run, topic, partition, max(offset) as offset, max(completed) as known
        from {{records}} where {ACKED} and offset is not null
        group by run, topic, partition, completed div {GRAIN}
    ), polls as (
        select run, topic, partition, min(previous) as offset, min(completed) as polled
        from {{records}}
        where f = 'poll' and not coalesce(final, false) and previous is not null and completed is not null
        group by run, topic, partition, process, assignment, completed div {GRAIN}
    ), known as (
        select run, polled, min(known) over (
            partition by run, topic, partition order by offset desc
            range between unbounded preceding and 1 preceding
        ) as known
        from (
            select run, topic, partition, offset, polled, null as known from polls union all
            select run, topic, partition, offset, null, known from acks
        )
    )
    select run, struct(topic, partition, most.lasted as lasted, -most.earlier as began, recovered) as log,
        null as phase, null as lag
    from longest left join recoveries using (run, topic, partition)
    union all
    select run, null, struct(since, phase, sends, errors, quantiles, worst, skipped), null from by_phase
    union all
    select run, null, null, max(polled - known) from known where polled > known group by run
"""
"""Rows of three kinds, times in ns. `log`: per log its longest wait and its recovery. `phase`: per run and phase in
which a send was invoked the number of sends, of those not acknowledged, and latencies. `lag`: per run the longest
time from the first acknowledgement of a record beyond a client's position to the next record that this client
polled. Final reads and the first record of a client do not count. The lag is exact to within `GRAIN`, and never too
long."""


@dataclass(frozen=True, kw_only=True)
class ApplicationFigures:
    """Times in ns."""

    standstill: tuple[int, int, str, int, bool] | None = None
    """The longest one: how long it lasted, when it began, topic, partition, and whether timestamps of outputs show
    it. None for an application that never let an input wait."""
    settings: Mapping[str, str] = field(default_factory=dict)

    def availability(self, began: int | None) -> Standstill | None:
        """began: of the run's first operation, ns."""
        if self.standstill is None:
            return None
        lasted, since, topic, partition, is_timed = self.standstill
        return Standstill(
            topic=topic,
            partition=partition,
            lasted=lasted / 1e9,
            began=None if began is None else (since - began) / 1e9,
            by="outputs" if is_timed else "positions",
        )


def application_figures(history: History, runs: Collection[str]) -> dict[str, ApplicationFigures]:
    """By run id. One Spark job; none without runs."""
    if not runs:
        return {}
    of_runs = history.of_runs(runs)
    rows = of_runs.sql(_APPLICATIONS, waits=standstills(of_runs)).collect()
    return {
        row.run: ApplicationFigures(
            standstill=row.most
            and (row.most.lasted, -row.most.earlier, row.most.topic, row.most.partition, row.most.is_timed),
            settings={} if row.session is None else {"session.timeout.ms": row.session},
        )
        for row in rows
    }


_APPLICATIONS = """
    with longest as (
        select run, max(struct(lasted, -began as earlier, topic, partition, is_timed)) as most from {waits}
        group by run
    ), settings as (
        select run, max(get_json_object(value, '$.session_timeout')) as session from {observations}
        where kind = 'group_log' group by run
    )
    select run, most, session from longest full outer join settings using (run)
"""


def measured_runs(tallies: Mapping[str, Tally]) -> list[str]:
    """The runs with a client of which the harness recorded ``"reads_own": true``, and with reads of sessions."""
    return sorted(
        run
        for run, of_run in tallies.items()
        if of_run.reading
        and any(row.f == "worker" and parse(row.value).get("reads_own") is True for row in of_run.harness)
    )


def stalenesses(history: History, runs: Collection[str]) -> dict[str, Staleness]:
    """By run id, of those of `runs` with an acknowledged write of a session. One Spark job; none without runs."""
    if not runs:
        return {}
    writes = session_writes(history.of_runs(runs))
    rows = history.records.sparkSession.sql(_STALENESS, writes=writes).collect()
    return {
        row.run: Staleness(
            writes=row.writes,
            reads=row.reads,
            missed=row.missed,
            unseen=row.unseen,
            median=_s(row.quantiles[0]) if row.quantiles else None,
            percentile_90=_s(row.quantiles[1]) if row.quantiles else None,
            longest=_s(row.longest),
        )
        for row in rows
    }


_STALENESS = """
    with late as (select *, if(seen is null, null, greatest(seen - time, 0)) as staleness from {writes})
    select run, count(*) as writes, count(read_end) as reads,
        count_if(read_end is not null and (seen is null or seen > read_end)) as missed,
        count_if(seen is null) as unseen,
        percentile_approx(staleness, array(0.5, 0.9)) as quantiles, max(staleness) as longest
    from late group by run
"""


def spread(history: History) -> list[Row]:
    """One row for each run with a change of a leader that two brokers came to name. One Spark job."""
    return history.rows(_PROPAGATION)


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


_PROPAGATION = f"""
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
