"""Per record of a share group: what became of it; and per delivery: the others of the same record."""

from __future__ import annotations

from pyspark.sql import DataFrame

from analyzers.facts.fact import MAYBE_ABORTED, POLLED, fact, is_withheld
from analyzers.history.load import History
from workloads.history.schema import NEMESIS

SLACK = 10_000_000_000
"""ns. After a fault, a library may return what it had acquired that long before the time that is known: a request
that a fault delays is given up after 3 s."""

QUEUES = """
    confirmations as (
        select run, `group`, topic, partition, min(start_offset) as first_confirmed
        from {operations} where f = 'acknowledgement' and type = 'ok' group by run, `group`, topic, partition
    ), share_groups as (
        select run, `group`, topic, partition, type, end_offset as reached,
            cast(get_json_object(value, '$.delivery_limit') as int) as delivery_limit,
            cast(get_json_object(value, '$.lock') as bigint) as lock,
            if(get_json_object(value, '$.policy') = 'latest', first_confirmed, null) as first_confirmed,
            coalesce(
                cast(get_json_object(value, '$.began') as bigint),
                if(get_json_object(value, '$.policy') = 'latest', least(first_confirmed, end_offset), 0)
            ) as began,
            coalesce(get_json_object(value, '$.isolation'), 'unknown') as isolation
        from {operations} left join confirmations using (run, `group`, topic, partition) where f = 'queue'
    ), queues as (
        select * from share_groups where type = 'ok'
    )
"""
"""Common table expressions. The last one has, per log, how far a share group has got, and where it began: it never
has to get the records below. `first_confirmed` is the record with which a group with latest began; null for other
groups. Brokers store where such a group began only with its first acknowledgement, and a new leader begins at the end
again before that."""

# To parse the JSON of all rows takes longer than everything else. These texts, as our clients write them in an object
# without another one in it, say what nearly all rows say. Only the other rows are parsed.
IS_FLAT = "not contains(substring(value, 2), '{{')"

DELIVERIES = f"""
    if({IS_FLAT} and (contains(value, '"deliveries": 1,') or contains(value, '"deliveries": 1}}}}')), 1,
        cast(get_json_object(value, '$.deliveries') as int))
"""
"""Of a row with f = 'delivery'."""

IS_FINAL = f"""
    if({IS_FLAT} and (contains(value, '"kind": "accept"') or contains(value, '"kind": "reject"')), true,
        get_json_object(value, '$.kind') in ('accept', 'reject'))
"""
"""Of a row with f = 'acknowledgement': whether the record is accepted or rejected."""

TROUBLE = f"""
    trouble as (
        select run, min(invoked) as troubled, count(distinct process_of) as ended,
            count(distinct if(process = {NEMESIS}, event, null)) as faults
        from (
            select run, process, invoked, get_json_object(value, '$.event') as event,
                get_json_object(value, '$.process') as process_of
            from {{operations}}
            where process = {NEMESIS}
                or f = 'worker' and get_json_object(value, '$.event') in ('killed', 'crashed')
        ) group by run
    )
"""
"""A common table expression: of runs with faults or clients that ended, when the first began, and their numbers."""


@fact(needs="queue")
def queued(history: History) -> DataFrame:
    """One row per share group and record that the final read found in a log that it consumes, unless a consumer
    accepted or rejected it, confirmed or not, or the group never has to get it: it lies below the offset at which the
    group began, or is withheld from it (see `is_withheld`).

    Columns: group, value, offset, sent (ns; null if unknown); reached: whether the group is done with it, which means
    that it was accepted or archived; delivery_limit; most: the highest count of deliveries that a consumer got with
    it, 0 if none did; unseen: how many deliveries may have reached no consumer, as far as the run tells: one for each
    client that ended, and for each fault; last (ns): when it was delivered last.
    """
    return history.sql(f"""
        with {QUEUES}, {TROUBLE}, found as (
            select run, topic, partition, offset, value, coalesce(bool_or(committed), false) as isolated
            from {{records}} where final and {POLLED} group by run, topic, partition, offset, value
        ), sends as (
            select run, topic, partition, value, invoked as sent, {MAYBE_ABORTED} as maybe_aborted
            from {{records}} where f = 'send'
        ), claims as (
            select run, `group`, topic, partition, start_offset as offset from {{operations}}
            where f = 'acknowledgement' and {IS_FINAL}
            group by run, `group`, topic, partition, start_offset, op having not bool_or(type = 'fail')
        ), unclaimed as (
            select /*+ BROADCAST(queues) */ *
            from found join queues using (run, topic, partition)
                left anti join claims using (run, `group`, topic, partition, offset)
            where offset >= began
        ), got as (
            select run, `group`, topic, partition, start_offset as offset, completed, value as about
            from {{operations}} where f = 'delivery' and type = 'ok'
        ), seen as (
            select run, `group`, topic, partition, value, offset, isolated, isolation, reached, delivery_limit,
                max(completed) as last,
                max(cast(get_json_object(about, '$.deliveries') as int)) as most
            from unclaimed left join got using (run, `group`, topic, partition, offset)
            group by run, `group`, topic, partition, value, offset, isolated, isolation, reached, delivery_limit
        )
        select run, `group`, topic, partition, value, offset, sent,
            offset < reached as reached, delivery_limit, coalesce(most, 0) as most,
            coalesce(ended, 0) + coalesce(faults, 0) as unseen, last
        from seen left join sends using (run, topic, partition, value) left join trouble using (run)
        where not {is_withheld("maybe_aborted", "isolated", "isolation")}
    """)


@fact(needs="delivery")
def deliveries(history: History) -> DataFrame:
    """One row per delivery of a record to a consumer of a share group. Records that were delivered once, as the first
    time, are left out: no promise is about them.

    Columns: group, offset, process, op, invoked, completed (ns), deliveries, since (ns, when it was acquired at the
    earliest), surely_after (ns, what was confirmed before then was so before it, whatever faults there were; null
    where there is no other delivery), delivery_limit; and of other deliveries of the record, as structs of process,
    op, completed, deliveries, and of their acknowledgements kind and confirmed (ns), null if there is none:

    - rival: one that had its lock at a moment at which this one had it, too, and which began before it. A consumer
      surely has the lock from the end of its poll until it requests its acknowledgement or the lock may have timed
      out; in runs with faults or clients that ended, only before these. One without an acknowledgement never counts.
    - finished: one whose acknowledgement as accepted or rejected was confirmed before this one was acquired.
    - released: one whose release was confirmed before this one was acquired, the one with the highest count.
    """
    return history.sql(f"""
        with {QUEUES}, {TROUBLE}, counted as (
            select run, `group`, topic, partition, start_offset, count(*) as n,
                min({DELIVERIES}) as deliveries
            from {{operations}} where f = 'delivery' and type = 'ok'
            group by run, `group`, topic, partition, start_offset
        ), several as (
            select /*+ BROADCAST(queues) */ run, `group`, topic, partition, start_offset
            from counted left join queues using (run, `group`, topic, partition)
            where n > 1 or coalesce(deliveries <> 1, true) or coalesce(delivery_limit < 1, false)
        ), of_several as (
            select * from (
                select run, `group`, topic, partition, start_offset, process, op, f, type, invoked, completed, value
                from {{operations}} where f = 'delivery' and type = 'ok' or f = 'acknowledgement'
            ) left semi join several using (run, `group`, topic, partition, start_offset)
        ), told as (
            select *, if(f = 'delivery', op, cast(get_json_object(value, '$.delivery') as bigint)) as about,
                if(f = 'delivery', {DELIVERIES}, null) as deliveries,
                cast(get_json_object(value, '$.since') as bigint) as since, get_json_object(value, '$.kind') as kind
            from of_several
        ), answered as (
            select run, `group`, topic, partition, start_offset as offset, about as op,
                max(process) filter (where f = 'delivery') as process,
                max(invoked) filter (where f = 'delivery') as invoked,
                max(completed) filter (where f = 'delivery') as completed, max(deliveries) as deliveries,
                max(since) as since, max(kind) as kind, min(invoked) filter (where f <> 'delivery') as asked,
                min(completed) filter (where f <> 'delivery' and type = 'ok') as confirmed
            from told group by run, `group`, topic, partition, start_offset, about having bool_or(f = 'delivery')
        ), held as (
            select /*+ BROADCAST(queues, trouble) */ answered.*, delivery_limit, troubled,
                if(asked is null or since is null or lock is null, null,
                    least(asked, since + lock, troubled)) as until
            from answered left join trouble using (run)
                left join queues using (run, `group`, topic, partition)
        ), beside as (
            select *, collect_list(struct(completed, op, process, until, deliveries, kind, confirmed)) over (
                    partition by run, `group`, topic, partition, offset
                ) as others,
                since - {SLACK} as surely_after, since - if(completed >= troubled, {SLACK}, 0) as after
            from held
        )
        select run, `group`, topic, partition, offset, process, op, invoked, completed, deliveries, since,
            surely_after, delivery_limit,
            array_min(filter(others, o -> struct(o.completed, o.op) < struct(completed, op)
                and o.until > completed and until > completed)) as rival,
            array_min(filter(others, o -> o.kind in ('accept', 'reject') and o.confirmed < after)) as finished,
            array_max(transform(
                filter(others, o -> o.kind = 'release' and o.confirmed < after),
                o -> struct(o.deliveries, o.op, o.process, o.confirmed)
            )) as released
        from beside
    """)
