"""Per reader that stopped getting records of a log: how long others went on without it, undisturbed.

A client notices a connection that a fault has cut only when a request or an attempt to connect times out. So a reader
states within how many seconds it gets records that are there (`poll_limit` in its ``worker`` row), and only
undisturbed time counts: no fault, no recovery, and no pause in which nobody else got anything of the log either.
"""

from __future__ import annotations

from pyspark.sql import DataFrame

from analyzers.facts.columns import ACKED, TIME
from analyzers.facts.fact import IDLE_READERS, fact
from analyzers.facts.final_reads import FINAL_READS
from analyzers.facts.members import ENDLESS
from analyzers.facts.waits import GRAIN
from analyzers.history.load import History
from workloads.history.schema import NEMESIS

PAUSES = 10
"""Nobody else getting anything for longer than this part of a reader's limit counts as a pause: the log may have been
unavailable."""

_STALLS = f"""
    with {FINAL_READS}, clients as (
        select run, cast(get_json_object(value, '$.process') as int) as process, invoked,
            get_json_object(value, '$.event') = 'stopped' as stopped,
            cast(get_json_object(value, '$.poll_limit') as double) as poll_limit
        from {{operations}} where f = 'worker'
    ), endings as (
        select run, min(invoked) as final_phase from {{operations}}
        where f = 'phase' and get_json_object(value, '$.phase') = 'final' group by run
    ), readers as (
        select run, process, cast(max(poll_limit) * 1e9 as bigint) as poll_limit,
            least(min(invoked) filter (where stopped), min(final_phase)) as until
        from clients left join endings using (run) group by run, process
        having max(poll_limit) is not null and bool_or(stopped)
    ), positions as (
        select /*+ BROADCAST(readers) */ run, topic, partition, process, poll_limit, until, max(offset) as offset,
            max({TIME}) as last, bool_or(coalesce(committed, false)) as isolated
        from {{records}} join readers using (run, process)
        where f = 'poll' and generation is null and not coalesce(final, false) and offset is not null
        group by run, topic, partition, process, poll_limit, until having max({TIME}) < until
    ), loads as (
        select run, (max(invoked) - min(invoked)) div 2 as half from {{records}} where f = 'send' group by run
    ), samples as (
        select run, topic, partition, max(log_start) as seen_start
        from {{observations}} where kind = 'partition' group by run, topic, partition
    ), disturbances as (
        select run, true as is_fault, min(invoked) as began,
            coalesce(max(completed) filter (where get_json_object(value, '$.stage') = 'heal'), {ENDLESS}) as ended
        from {{operations}} where process = {NEMESIS} group by run, get_json_object(value, '$.event')
        union all
        select run, false, invoked, if(type = 'ok', completed, {ENDLESS}) from {{operations}} where f = 'recovery'
    ), of_runs as (
        select run, collect_list(struct(began, ended)) as disturbed, min(began) filter (where is_fault) as first_fault
        from disturbances group by run
    ), candidates as (
        select /*+ BROADCAST(loads), BROADCAST(samples), BROADCAST(of_runs), BROADCAST(final_reads) */
            run, topic, partition, process, poll_limit, half, until, offset, last, isolated, first_fault, final_end,
            coalesce(disturbed, array()) as disturbed, greatest(final_start, seen_start, 0) as log_start
        from positions left join loads using (run) left join samples using (run, topic, partition)
            left join of_runs using (run) left join final_reads using (run, topic, partition)
    ), progress as (
        select /*+ BROADCAST(c) */ c.*, max(r.offset) filter (where f = 'poll') as reached,
            array_sort(collect_set(if(coalesce(final, false), null, {TIME} div {GRAIN} * {GRAIN}))) as times
        from {{records}} r join candidates c
            on r.run = c.run and r.topic = c.topic and r.partition = c.partition and r.offset > c.offset
        where f = 'poll' and (committed or not isolated) or {ACKED} and not isolated and r.offset < final_end
        group by all
    ), spans as (
        select *, greatest(last, times[0]) as since, least(until, try_element_at(times, -1)) as went_on,
            filter(
                zip_with(times, slice(times, 2, size(times)), (one, next) -> struct(one as began, next as ended)),
                pause -> pause.ended - pause.began > poll_limit div {PAUSES}
            ) as pauses
        from progress where size(times) > 0
    )
    select run, topic, partition, process, offset, last, reached, log_start,
        if(first_fault < went_on, poll_limit, least(poll_limit, half)) as allowed,
        aggregate(
            array_sort(concat(disturbed, pauses)), struct(since as free, 0L as longest),
            (before, each) -> struct(
                greatest(before.free, each.ended) as free,
                greatest(before.longest, least(each.began, went_on) - before.free) as longest
            ),
            all -> greatest(all.longest, went_on - all.free)
        ) as undisturbed
    from spans
"""


@fact(needs=IDLE_READERS)
def stalls(history: History) -> DataFrame:
    """One row per log and reader without group that the run stopped, if others got records above the highest offset
    that the reader polled. Only readers that stated their limit count: others may have read all they wanted.

    Columns:

    - process; offset, the highest one that it polled; last (ns): when it got its last record.
    - reached: the highest offset that a poll returned, which may be of the final read.
    - undisturbed (ns): the longest undisturbed time, after its last record and until it was stopped, in which others
      got records above its offset. An acknowledgement counts, too, if the final read got that far. For a reader with
      read_committed, only polls with read_committed count: the last stable offset may hold it back.
    - allowed (ns): the limit that the reader stated; until the first fault, at most half of the load.
    - log_start: the highest start of the log that the final read found or a broker reported.
    """
    return history.sql(_STALLS)
