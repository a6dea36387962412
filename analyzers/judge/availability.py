"""How long clients were kept waiting: measured by Spark for every run, whether or not a bound is stated."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from pyspark.sql import Row

from analyzers.facts.availability import GRAIN, RECOVERIES, WAITED
from analyzers.facts.fact import ACKED
from analyzers.history.load import History
from analyzers.verdict.availability import Availability, LogAvailability, PhaseAvailability
from workloads.history.schema import HARNESS

LATENCY = "completed - coalesce(intended, invoked)"
"""From when the send was due: a client that waits for brokers invokes the next sends later."""

BEFORE = "start"
"""The name of the time before the first recorded phase."""


def measure(history: History) -> list[Row]:
    """The input of `availabilities`, in one Spark job."""
    return history.rows(_STATEMENT)


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


_STATEMENT = f"""
    with {WAITED}, {RECOVERIES}, longest as (
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
