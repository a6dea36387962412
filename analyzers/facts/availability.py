"""How long clients waited: for acknowledgements, for the first one after the last heal, and for records to read.

A client notices a connection that a fault has cut only when a request or an attempt to connect times out. So a reader
states within how many seconds it gets records that are there (`poll_limit` in its ``worker`` row), and only
undisturbed time counts: no fault, no recovery, and no pause in which nobody else got anything of the log either.
"""

from __future__ import annotations

from pyspark.sql import DataFrame

from analyzers.facts.fact import ACKED, FAULTS, IDLE_READERS, TIME, fact
from analyzers.facts.members import ENDLESS
from analyzers.facts.removals import FINAL_READS, NAME
from analyzers.history.load import History
from workloads.history.schema import NEMESIS

GRAIN = 100_000_000
"""ns. Sends are aggregated by tenths of a second, so that only these aggregates are shuffled."""

ASKS = """
    unanswered as (
        select run, process, invoked, completed from {operations} where f = 'init' and type = 'info'
    ), written as (
        select /*+ BROADCAST(stuck) */ run, process, topic, partition, min(invoked) as since
        from {records} join (select distinct run, process from unanswered) stuck using (run, process)
        where f = 'send' group by run, process, topic, partition
    ), asks as (
        select run, topic, partition, f, type, invoked, completed, offset from {records} where f = 'send'
        union all
        select run, topic, partition, 'init', 'info', unanswered.invoked, completed, null
        from unanswered join written using (run, process) where unanswered.invoked > since
    )
"""
"""Common table expressions. The last one has what clients ask of a log: sends, and requests for a producer id that no
coordinator answered, of a client that has sent to the log before. Such a client waits, and can send nothing."""

WAITED = f"""
    grains as (
        select run, topic, partition, {TIME} div {GRAIN} as grain,
            min(completed) filter (where {ACKED}) as first_ack, max(completed) filter (where {ACKED}) as last_ack,
            min(invoked) as asked, max({TIME}) as last
        from asks group by run, topic, partition, {TIME} div {GRAIN}
    ), numbered as (
        select *, count(first_ack) over earlier as number, max(last_ack) over earlier as before
        from grains
        window earlier as (
            partition by run, topic, partition order by grain rows between unbounded preceding and 1 preceding
        )
    ), waited as (
        select run, topic, partition, greatest(max(before), min(asked)) as began,
            coalesce(min(first_ack), max(last)) as ended
        from numbered group by run, topic, partition, number
    )
"""
"""Common table expressions over `ASKS`. The last one has every wait with its beginning and end (ns); one or more for
each log."""


@fact()
def waits(history: History) -> DataFrame:
    """One row per wait that took any time. Columns: began, lasted (ns).

    A wait ends with an acknowledgement, the last one of a log with the last of its `ASKS`; it begins with the
    acknowledgement before, or the first invocation of those that ended in it if that came later.
    """
    return history.sql(
        f"with {ASKS}, {WAITED} select run, topic, partition, began, ended - began as lasted from waited "
        "where began < ended"
    )


ANSWERED = "(type = 'ok' or offset is not null)"
"""Of a send: a broker acknowledged it, even if its transaction was aborted later."""

RECOVERIES = f"""
    heals as (
        select run, max(completed) as healed
        from {{operations}}
        where process = {NEMESIS} and get_json_object(value, '$.stage') = 'heal' group by run
    ), tries as (
        select /*+ BROADCAST(heals) */ run, topic, partition, healed,
            min(completed) filter (where {ACKED} and invoked >= healed) - healed as recovered,
            max({TIME}) filter (where invoked >= healed) - healed as tried,
            coalesce(bool_or({ACKED} and completed < healed), false) as acked_before,
            min(invoked) filter (where f = 'send' and invoked >= healed) as asked,
            max(invoked) filter (where {ANSWERED} and {TIME} >= healed) as answered,
            max(invoked) filter (where f = 'send') as last_asked
        from asks join heals using (run)
        group by run, topic, partition, healed
    ), recoveries as (
        select run, topic, partition, healed, recovered, acked_before, coalesce(recovered, tried) as lasted,
            asked, answered, max(answered) over (partition by run) as answered_elsewhere, last_asked
        from tries
    )
"""
"""Common table expressions over `ASKS`. The last one is the fact."""


@fact(needs=FAULTS)
def recoveries(history: History) -> DataFrame:
    """One row per log.

    Columns, times in ns:

    - healed: when the last heal had completed.
    - recovered: from then to the first acknowledgement of a send that began later; null if there is none.
    - lasted: like recovered; if no such send was acknowledged, the time until the last of the `ASKS` after the heal
      ended; null if there was none.
    - acked_before: whether a send was acknowledged before that heal.
    - asked: when the first send began after that heal; null for none.
    - answered: when the last send began that a broker acknowledged after that heal, or whose transaction ended after
      it; null for none. answered_elsewhere: the same of all logs of the run together.
    - last_asked: when the last send began.
    - deleted: whether the last change of its topic that began before that is a deletion that was not refused. A run
      deletes its topics when all sends have ended.
    """
    return history.sql(f"""
        with {ASKS}, {RECOVERIES}, changes as (
            select run, {NAME} as name, event in ('deleted', 'delete') as deletes, invoked from (
                select run, topic, invoked,
                    coalesce(get_json_object(value, '$.event'), get_json_object(value, '$.change')) as event
                from {{operations}} where f in ('topic', 'alter') and type <> 'fail'
            ) where event in ('created', 'recreated', 'deleted', 'create', 'delete')
        ), last_changes as (
            select /*+ BROADCAST(changes) */ run, topic, partition, max_by(deletes, changes.invoked) as deleted
            from (select *, {NAME} as name from recoveries) join changes using (run, name)
            where changes.invoked < last_asked group by run, topic, partition
        )
        select recoveries.*, {NAME} as name, coalesce(deleted, false) as deleted
        from recoveries left join last_changes using (run, topic, partition)
    """)


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
