"""The checks of transactions and groups as plain SQL: one query for each check, nothing shared.

They leave out what the histories of `grouped_histories` do not have: resets, static members, seeks, clients that gave
up, logs that lost their beginning, and records that compaction removed. Needs the package duckdb.
"""

from __future__ import annotations

from benchmarks.plain import VIEWS as OF_LOGS

VIEWS = f"""
{OF_LOGS}
create view written as select topic, partition, value, transaction, process, type, "offset", invoked from sends
  where transaction is not null;
create view careful as select topic, partition, "offset", value, op, if(final, -1, process) as reader, assignment,
  completed from polls where committed and error is null and "offset" is not null;
create view txns as select op as transaction, process, value->>'$.transactional_id' as name,
    (value->>'$.ending')::bigint as ending from operations where f = 'txn';
create view inits as select process, invoked, completed, value->>'$.transactional_id' as name from operations
  where f = 'init' and type = 'ok';
create view members as select *, value->>'$.event' as event from operations where f = 'member';
create view assigned as select * from (
    select *, lead(invoked) over (partition by "group", topic, partition, process order by invoked) as ending
      from members)
  where event = 'assigned';
create view commits as select * from operations where f = 'commit' and type = 'ok';
create view read_by_groups as select p.*, m."group" from polls p
  join (select distinct process, "group" from members) m using (process) where "offset" is not null;
create view reached as select "group", topic, partition, op, min(invoked) as began, max(completed) as known,
    max("offset") + 1 as reached from read_by_groups group by all;
"""

QUERIES = {
    "torn-transaction": """
      with spans as (select topic, partition, reader, assignment, min("offset") as low, max("offset") as high
          from careful group by all),
        saw as (select distinct transaction, reader from written join careful using (topic, partition, value)),
        passed as (select w.topic, w.partition, w.value, w.transaction, s.reader from written w
          join spans s on s.topic = w.topic and s.partition = w.partition and w."offset" between s.low and s.high)
      select count(distinct value) from passed semi join saw using (transaction, reader)
        anti join careful using (topic, partition, value, reader)""",
    "precommitted-read": """
      select count(*) from (select topic, partition, value, min(completed) as first_read from careful group by all)
        join written using (topic, partition, value) join txns using (transaction) where first_read < ending""",
    "zombie-write": """
      with claimed as (select t.transaction, t.name, t.process, max(i.completed) as claimed from txns t
          join inits i on i.name = t.name and i.process = t.process group by all),
        fenced as (select c.transaction, min(i.completed) as fenced from claimed c
          join inits i on i.name = c.name and i.process <> c.process and i.invoked > c.claimed group by all)
      select count(*) from written join fenced using (transaction)
      where invoked > fenced and (type = 'ok' or "offset" is not null)""",
    "read-above-lso": """
      with line as (
        select topic, partition, op, max("offset") as top, max(completed) as moment, null as last_stable
        from careful group by topic, partition, op
        union all select topic, partition, null, null, asked, last_stable
          from read_parquet('{history}/observations/*.parquet')
        where kind = 'partition' and node = leader and last_stable is not null)
      select count(*) from (select op, top, min(last_stable) over (partition by topic, partition order by moment desc
        range between unbounded preceding and 1 preceding) as later from line) where op is not null
          and later <= top""",
    "double-ownership": """
      select count(*) from (select invoked, completed, max(ending) over (partition by "group", topic, partition,
        generation
        order by completed rows between unbounded preceding and 1 preceding) as held from assigned)
      where completed < held""",
    "group-skip": """
      with line as (
        select "group", topic, partition, completed as moment, 1 as kind, op, start_offset as position,
          null as reached
        from assigned union all select "group", topic, partition, known, 0, op, null, reached from reached),
        gaps as (select * from (select * replace (max(reached) over (partition by "group", topic, partition
            order by moment, kind rows between unbounded preceding and current row) as reached) from line)
          where kind = 1 and reached < position)
      select count(*) from (select g.op, p."offset" from gaps g join polls p
          on p.topic = g.topic and p.partition = g.partition and p."offset" >= g.reached and p."offset" < g.position
        left join read_by_groups m on m."group" = g."group" and m.op = p.op
          and m.topic = p.topic and m.partition = p.partition and m."offset" = p."offset"
        group by all having bool_or(p.invoked > g.moment and p.committed) and not bool_or(m.op is not null))""",
    "commit-beyond-polls": """
      with line as (
        select "group", topic, partition, completed as moment, 1 as kind, op, invoked, end_offset,
          null as reached from commits
        union all select "group", topic, partition, began, 0, op, null, null, reached from reached
        union all select "group", topic, partition, invoked, 0, op, null, null, start_offset from assigned),
        beyond as (select * from (select * replace (max(reached) over (partition by "group", topic, partition
            order by moment, kind rows between unbounded preceding and current row) as reached) from line)
          where kind = 1 and reached < end_offset)
      select count(*) from beyond b
        asof join (select topic, partition, "offset" as below, max(invoked) as last from polls
          where committed group by all) p
        on p.topic = b.topic and p.partition = b.partition and b.end_offset > p.below
      where b.reached <= p.below and b.invoked < p.last""",
    "commit-regression": """
      with line as (
        select "group", topic, partition, invoked as moment, 1 as kind, end_offset, null as committed from commits
        union all select "group", topic, partition, completed, 0, null, end_offset from commits)
      select count(*) from (select kind, end_offset, max(committed) over (partition by "group", topic, partition
        order by moment, kind desc rows between unbounded preceding and 1 preceding) as committed from line)
      where kind = 1 and end_offset < committed""",
    "unfenced-commit": """
      with line as (
        select "group", topic, partition, invoked as moment, 0 as kind, process, generation, null as newest
          from commits
        union all select "group", topic, partition, completed, 1, process, null, (generation, process) from assigned)
      select count(*) from (select kind, process, generation, max(newest) over (partition by "group", topic, partition
        order by moment, kind rows between unbounded preceding and current row) as newest from line)
      where kind = 0 and generation < newest[1] and process <> newest[2]""",
    "excess-duplicates": """
      with line as (
        select "group", topic, partition, invoked as moment, 0 as kind, process, generation, start_offset,
          null as committed
        from assigned union all select "group", topic, partition, completed, 1, null, null, null, end_offset
          from commits),
        began as (select * from (select * replace (max(committed) over (partition by "group", topic, partition
            order by moment, kind rows between unbounded preceding and 1 preceding) as committed) from line)
          where kind = 0 and start_offset < committed),
        again as (select b.moment as since, p."group", p.topic, p.partition, p.op, p."offset" from began b
          join read_by_groups p using ("group", topic, partition, process, generation) where p."offset" < b.committed)
      select count(distinct (a.topic, a.partition, a.op, a."offset")) from again a join read_by_groups p
        on p."group" = a."group" and p.topic = a.topic and p.partition = a.partition and p."offset" = a."offset"
          and p.completed < a.since""",
}
