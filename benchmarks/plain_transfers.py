"""The check of snapshots as plain SQL.

It leaves out what the histories of `transfer_histories` do not have: records at no known offset, logs that lost their
beginning, and compacted topics. Needs the package duckdb.
"""

from __future__ import annotations

from benchmarks.plain import VIEWS as OF_LOGS

VIEWS = f"""
{OF_LOGS}
create view snapshot_reads as select *, (value->>'$.snapshot')::int as number from operations
  where f = 'read' and value->>'$.snapshot' is not null;
create view ends as select topic, partition, process, number, end_offset, completed from snapshot_reads
  where type = 'ok';
"""

QUERIES = {
    "wrong-total": """
      with polled as (select topic, partition, process, "offset", value, amount,
          min(coalesce(completed, invoked)) as got
          from polls where error is null and amount is not null group by all),
        had as (select p.*, greatest(e.number, c.number) as since from polled p
          asof join ends e on e.topic = p.topic and e.partition = p.partition and e.process = p.process
            and p."offset" < e.end_offset
          asof join ends c on c.topic = p.topic and c.partition = p.partition and c.process = p.process
            and p.got <= c.completed),
        parts as (select topic, partition, value, amount, max("offset") as "offset",
          coalesce(max(transaction) filter (f = 'send'), value) as transaction
          from records where amount is not null group by topic, partition, value, amount),
        begun as (select process, transaction, min(since) as begun from had
          join parts using (topic, partition, value) group by all),
        counted as (select b.process, greatest(b.begun, least(h.since, e.number)) as number, p.amount from parts p
          join begun b using (transaction)
          left join had h on h.topic = p.topic and h.partition = p.partition and h.value = p.value
            and h.process = b.process
          asof left join ends e on e.topic = p.topic and e.partition = p.partition and e.process = b.process
            and p."offset" < e.end_offset
          where h.since is not null or e.number is not null),
        changes as (select process, number, sum(total) as total, sum(expected) as expected from (
            select process, since as number, amount as total, 0 as expected from had
            union all select process, number, 0, amount from counted) group by all),
        sums as (select process, number, sum(coalesce(total, 0)) over sofar as total,
          sum(coalesce(expected, 0)) over sofar as expected
          from (select distinct process, number from snapshot_reads) left join changes using (process, number)
          window sofar as (partition by process order by number))
      select count(*) from sums where total <> expected""",
}
