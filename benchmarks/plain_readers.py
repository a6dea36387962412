"""The checks of readers, leaders and compacted topics as plain SQL: one query for each check, nothing shared.

They leave out what the histories of `reader_histories` do not have: faults, recoveries, members of groups, readers of
committed records, and logs that lost their beginning. Needs the package duckdb.
"""

from __future__ import annotations

from benchmarks.plain import VIEWS as OF_LOGS

GRAIN = 100_000_000
"""ns. Times in which others read on are known to a tenth of a second."""

VIEWS = f"""
{OF_LOGS}
create view observations as select * from read_parquet('{{history}}/observations/*.parquet');
create view keyed as select * from records where key is not null and topic in (
  select topic from operations where f = 'topic' and (value->>'$.config."cleanup.policy"') like '%compact%');
create view searches as select topic, partition, op, invoked, completed, start_offset as known, end_offset as answer,
    (value->>'$.timestamp')::bigint as timestamp, (value->>'$.found')::bigint as found,
    (value->>'$.value')::bigint as value
  from operations where f = 'search' and type = 'ok' and end_offset is not null;
create view clients as select (value->>'$.process')::int as process, value->>'$.event' as event, invoked,
    (value->>'$.poll_limit')::double as poll_limit
  from operations where f = 'worker';
"""

QUERIES = {
    "risen-key": """
      with deleted as (select topic, partition, key, max("offset") as deleted from keyed
          where "offset" is not null and (f = 'poll' or type = 'ok') group by all
          having arg_max(tombstone, "offset")),
        uncertain as (select distinct topic, partition, key from keyed k
          anti join (select topic, partition, key, value from keyed where f = 'poll')
            using (topic, partition, key, value)
          where f = 'send' and type <> 'fail' and ("offset" is null or type <> 'ok')),
        last as (select topic, partition, process, assignment, key, max("offset") as "offset",
          arg_max(tombstone, "offset") as tombstone
          from keyed where f = 'poll' and "offset" is not null group by all),
        passes as (select topic, partition, process, assignment, max("offset") as passed from polls group by all)
      select count(*) from last join passes using (topic, partition, process, assignment)
        join deleted using (topic, partition, key) anti join uncertain using (topic, partition, key)
      where deleted < passed and "offset" < deleted and not coalesce(tombstone, false)""",
    "read-above-watermark": """
      with line as (
        select topic, partition, node, leader_epoch, op, max("offset") as top,
          max(coalesce(fetched, completed, invoked)) as moment, null as watermark
        from polls where "offset" is not null and node is not null
        group by topic, partition, node, leader_epoch, process, op
        union all select topic, partition, node, leader_epoch, null, null, asked, high_watermark from (
          select *, lead(leader) over samples as next_leader, lead(leader_epoch) over samples as next_epoch
          from observations where kind = 'partition'
          window samples as (partition by topic, partition, node order by time))
        where leader = node and next_leader = node and next_epoch = leader_epoch)
      select count(*) from (select op, top, min(watermark) over (partition by topic, partition, node, leader_epoch
        order by moment desc range between unbounded preceding and 1 preceding) as later from line)
      where op is not null and later <= top""",
    "wrong-offset-for-time": """
      with lasted as (select s.op from searches s join polls p on p.topic = s.topic and p.partition = s.partition
          and p."offset" = s.known and p.value = s.value
        group by s.op having bool_or(p.completed <= s.invoked) and bool_or(p.final and p.invoked >= s.completed))
      select count(*) from searches
      where found < timestamp or (known < answer and op in (select op from lasted))""",
    "stalled-reader": f"""
      with readers as (select process, (max(poll_limit) * 1e9)::bigint as poll_limit,
          min(invoked) filter (event = 'stopped') as until
          from clients group by all having max(poll_limit) is not null and bool_or(event = 'stopped')),
        allowed as (select (max(invoked) - min(invoked)) // 2 as half from sends),
        positions as (select topic, partition, process, poll_limit, until, max("offset") as "offset",
          max(coalesce(completed, invoked)) as last
          from polls join readers using (process)
          where generation is null and not final and "offset" is not null group by all
          having max(coalesce(completed, invoked)) < until),
        times as (select distinct topic, partition, p.process, poll_limit, until, last,
          coalesce(r.completed, r.invoked) // {GRAIN} * {GRAIN} as t
          from positions p join records r using (topic, partition) left join final_read e using (topic, partition)
          where r."offset" > p."offset" and not coalesce(r.final, false)
            and (f = 'poll' or type = 'ok' and r."offset" < log_end)),
        pauses as (select *, t - lag(t) over (partition by topic, partition, process order by t) > poll_limit // 10
          as is_pause from times),
        runs as (select *, count(*) filter (is_pause) over (partition by topic, partition, process order by t) as run
          from pauses),
        undisturbed as (select topic, partition, process, poll_limit,
          least(max(t), until) - greatest(min(t), last) as undisturbed
          from runs group by topic, partition, process, poll_limit, until, last, run)
      select count(distinct (topic, partition, process)) from undisturbed cross join allowed
      where undisturbed > least(poll_limit, half)""",
    "overtaken-write": """
      with unknown as (select topic, partition, value, min(invoked) as invoked from sends where type = 'info'
          group by all),
        line as (
          select topic, partition, value, "offset", invoked, null as acked from unknown
            join (select topic, partition, value, min("offset") as "offset" from whole group by all)
              using (topic, partition, value)
          union all select topic, partition, null, "offset", null, completed from acked where "offset" is not null)
      select count(*) from (select value, invoked, min(acked) over (partition by topic, partition
        order by "offset" desc range between unbounded preceding and 1 preceding) as overtaken from line)
      where value is not null and overtaken < invoked""",
}
