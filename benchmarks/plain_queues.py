"""The checks of share groups as plain SQL: one query for each check, nothing shared.

They leave out what the histories of `queue_histories` do not have: faults, clients that ended, groups whose progress
is unknown, and records of which no value is known. Needs the package duckdb.
"""

from __future__ import annotations

from benchmarks.plain import VIEWS as OF_LOGS

VIEWS = f"""
{OF_LOGS}
create view queues as select "group", topic, partition, end_offset as reached,
    (value->>'$.delivery_limit')::int as delivery_limit, (value->>'$.lock')::bigint as lock
  from operations where f = 'queue' and type = 'ok';
create view found as select distinct topic, partition, "offset", value from polls where final and error is null;
create view deliveries as select "group", topic, partition, start_offset as "offset", op, completed,
    (value->>'$.deliveries')::int as deliveries, (value->>'$.since')::bigint as since
  from operations where f = 'delivery' and type = 'ok';
create view answers as select (value->>'$.delivery')::bigint as op, value->>'$.kind' as kind, min(invoked) as asked,
    min(completed) filter (type = 'ok') as confirmed
  from operations where f = 'acknowledgement' group by all;
create view claimed as select "group", topic, partition, start_offset as "offset" from operations
  where f = 'acknowledgement' and value->>'$.kind' in ('accept', 'reject') and type <> 'fail';
"""

QUERIES = {
    "queue-lost": """
      select count(*) from found join queues using (topic, partition)
        left join (select "group", topic, partition, "offset", max(deliveries) as most from deliveries group by all)
          using ("group", topic, partition, "offset")
        anti join claimed using ("group", topic, partition, "offset")
      where "offset" < reached and coalesce(most, 0) < delivery_limit""",
    "queue-unfinished": """
      select count(*) from found join queues using (topic, partition)
        anti join claimed using ("group", topic, partition, "offset")
      where "offset" >= reached""",
    "queue-double-holder": """
      with held as (select "group", topic, partition, "offset", op, completed, least(asked, since + lock) as until
          from deliveries join answers using (op) join queues using ("group", topic, partition))
      select count(*) from (select completed, until, max(until) over (partition by "group", topic, partition, "offset"
        order by completed, op rows between unbounded preceding and 1 preceding) as other from held)
      where other > completed and until > completed""",
    "queue-redelivery": """
      with finished as (select "group", topic, partition, "offset", min(confirmed) as finished
          from deliveries join answers using (op) where kind in ('accept', 'reject') group by all)
      select count(*) from deliveries join finished using ("group", topic, partition, "offset")
      where finished <= since""",
    "queue-delivery-count": """
      with released as (select "group", topic, partition, "offset", confirmed, deliveries as before
          from deliveries join answers using (op) where kind = 'release')
      select count(distinct op) from deliveries d join queues q using ("group", topic, partition)
        left join released r using ("group", topic, partition, "offset")
      where deliveries < 1 or deliveries > delivery_limit or (r.confirmed <= d.since and deliveries <= r.before)""",
}
