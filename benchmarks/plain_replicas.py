"""The checks of what brokers and controllers report as plain SQL: one query for each check, nothing shared.

They leave out what the histories of `replica_histories` do not have: faults, unclean elections that a topic allows,
replicas that move, clusters without a quorum, topics that limit what they keep, and settings that change. Needs the
package duckdb.
"""

from __future__ import annotations

VIEWS = """
create view observations as select * from read_parquet('{history}/observations/*.parquet');
create view operations as select * from read_parquet('{history}/operations/*.parquet');
create view records as select * from read_parquet('{history}/records/*.parquet');
create view partitions as select * from observations where kind = 'partition';
create view led as select * from (
    select *, lead((leader, leader_epoch)) over (partition by topic, partition, node order by time) as next
    from partitions)
  where leader = node and next[1] = node and next[2] = leader_epoch;
create view led_epochs as
  with epochs as (select topic, partition, leader_epoch, min(asked) as asked,
      arg_min((node, log_end), asked) filter (where log_end is not null) as first from led group by all),
    ends as (select *, min(asked) over (partition by topic, partition order by leader_epoch
      rows between 1 following and unbounded following) as superseded from epochs)
  select topic, partition, leader_epoch, any_value(e.first[1]) as node, any_value(e.first[2]) as log_end,
    coalesce(max(high_watermark) filter (where time < superseded), -1) as watermark
  from led join ends e using (topic, partition, leader_epoch) group by all;
create view successions as
  with reached as (select n.topic, n.partition, n.leader_epoch, n.node, n.log_end,
      least(o.watermark, min(m.log_end)) as reached
    from led_epochs n join led_epochs o
        on o.topic = n.topic and o.partition = n.partition and o.leader_epoch < n.leader_epoch
      left join led_epochs m on m.topic = n.topic and m.partition = n.partition
        and m.leader_epoch > o.leader_epoch and m.leader_epoch < n.leader_epoch
    group by n.topic, n.partition, n.leader_epoch, n.node, n.log_end, o.leader_epoch, o.watermark),
    sampled as (select topic, partition, leader_epoch, arg_max(isr, time) as isr from partitions
      where isr is not null group by all),
    before as (select topic, partition, leader_epoch,
      lag(isr) over (partition by topic, partition order by leader_epoch) as isr_before from sampled)
  select topic, partition, leader_epoch, max(reached) as committed, any_value(log_end) as log_end,
    coalesce(not list_contains(any_value(isr_before), any_value(node)), false) as is_outside
  from reached join before using (topic, partition, leader_epoch) group by all;
create view eligible as select *, (value->'$.eligible')::int[] as named, (value->'$.last_known')::int[] as last_known
  from observations where kind = 'eligible';
create view demanded as select topic, min((value->>'$."min.insync.replicas"')::int) as least,
    max((value->>'$."min.insync.replicas"')::int) as most
  from observations where kind = 'settings' group by all;
create view used as select distinct topic, partition from records;
"""


def _below_earlier(rows: str, keys: str, column: str, where: str = "true") -> str:
    """Answers with less than one with the same keys that had arrived before they were requested."""
    return f"""
      with line as (
        select {keys}, time as moment, 1 as kind, {column} as answered from {rows} where {where}
        union all select {keys}, asked, 0, {column} from {rows} where {where})
      select count(*) from (select kind, answered, max(if(kind = 1, answered, null)) over (partition by {keys}
        order by moment, kind rows between unbounded preceding and 1 preceding) as earlier from line)
      where kind = 0 and answered < earlier"""


QUERIES = {
    "watermark-above-end": "select count(*) from led where high_watermark > log_end",
    "watermark-regression": _below_earlier("led", "topic, partition, leader_epoch", "high_watermark"),
    "replica-divergence": "select count(*) from operations where f = 'divergence'",
    "leader-below-watermark": "select count(*) from successions where log_end < committed and not is_outside",
    "unclean-truncation": "select count(*) from successions where log_end < committed and is_outside",
    "replica-below-watermark": """
      with line as (
        select topic, partition, leader_epoch, time + 1000000000 as moment, 1 as kind, high_watermark as mark,
          null as members, null as time from led
        union all select topic, partition, leader_epoch, asked, 0, null, list_sort(isr), time from led),
        marks as (select *, max(mark) over (partition by topic, partition, leader_epoch order by moment, kind
          rows between unbounded preceding and 1 preceding) as settled from line),
        known as (
          select topic, partition, members, time as moment, 1 as kind, settled, null as log_end
          from marks where kind = 0
          union all select topic, partition, list_sort(isr), asked, 0, null, log_end
          from partitions where node <> leader and list_contains(isr, node)),
        samples as (select *, max(settled) over (partition by topic, partition, members order by moment, kind
          rows between unbounded preceding and 1 preceding) as held from known)
      select count(*) from samples
        anti join (select * from successions where log_end < committed) using (topic, partition)
      where kind = 0 and log_end < held""",
    "unexplained-log-start": """
      with answered as (select op from operations where f = 'deletion' and type <> 'info'),
        deleted as (select topic, partition, max(end_offset) as deleted_to from operations
          where f = 'deletion' and type <> 'fail' and (type <> 'info' or op not in (select op from answered))
          group by all)
      select count(*) from led join used using (topic, partition) left join deleted using (topic, partition)
      where log_start > coalesce(deleted_to, 0)""",
    "log-start-regression": _below_earlier(
        "led semi join used using (topic, partition)",
        "topic, partition, node, leader_epoch, connection",
        "log_start",
        "connection is not null",
    ),
    "acks-below-min-isr": """
      with answers as (select *, len(isr) < least as is_short from led join demanded using (topic)),
        periods as (select *, count(*) filter (where not is_short) over (
          partition by topic, partition, node, leader_epoch order by time) as period from answers),
        gaps as (select topic, partition, node, leader_epoch, period, time as began, lead(asked) over line as ended,
            max(asked) over (partition by topic, partition, node, leader_epoch, period) as until
          from periods where is_short
          window line as (partition by topic, partition, node, leader_epoch, period order by time)),
        careful as (select (value->>'$.process')::int as process from operations
          where f = 'worker' and value->>'$.acks' = 'all'),
        sends as (select topic, partition, invoked, completed from records semi join careful using (process)
          where f = 'send' and type = 'ok'),
        counted as (select topic, partition, node, leader_epoch, period, began, ended, until,
            count(invoked) filter (where completed < ended) as acks
          from gaps left join (
            select s.*, g.began from sends s asof join gaps g
              on g.topic = s.topic and g.partition = s.partition and s.invoked > g.began) s
            using (topic, partition, began)
          group by all)
      select count(*) from (select *, lag(acks) over (partition by topic, partition, node, leader_epoch, period
          order by began) as acks_before from counted)
      where ended < until - 2000000000 and acks > 0 and acks_before > 0""",
    "two-leaders-in-epoch": """
      select count(*) from (select 1 from partitions where leader >= 0 group by topic, partition, leader_epoch
        having min(leader) < max(leader))""",
    "controller-conflict": """
      select count(*) from (select 1 from observations where leader >= 0 and kind in ('quorum', 'controller')
        group by kind, leader_epoch having min(leader) < max(leader))""",
    "controller-regression": _below_earlier(
        "observations", "connection", "leader_epoch", "kind = 'controller' and connection is not null"
    ),
    "leader-outside-isr": """
      select count(*) from partitions
      where leader >= 0 and (not list_contains(isr, leader) or not list_has_all(replicas, isr))""",
    "metadata-regression": _below_earlier(
        "partitions", "topic, partition, node, connection", "leader_epoch", "connection is not null"
    ),
    "eligible-conflict": """
      select count(*) from eligible join demanded using (topic)
      where len(named) > 0 and (list_has_any(isr, named) or len(isr) >= most)""",
    "ineligible-leader": """
      with leaderless as (select topic, partition, leader_epoch + 1 as leader_epoch, list(named) as each,
          list_distinct(flatten(list(last_known))) as last_known
        from eligible where leader = -1 and len(isr) = 0 group by all),
        elected as (select distinct topic, partition, leader_epoch, leader from observations
          where kind in ('partition', 'eligible') and leader >= 0)
      select count(*) from elected join leaderless using (topic, partition, leader_epoch)
      where len(list_filter(each, lambda one: not list_contains(one, leader))) > 0
        and not list_contains(last_known, leader)""",
    "metadata-disagreement": """
      with viewed as (select topic, partition, node, asked, time, leader_epoch,
          lag(leader_epoch) over (partition by topic, partition, node order by time) as before from partitions),
        by_node as (select topic, partition, node, max(asked) as until, arg_max(leader_epoch, time) as epoch,
          max(time) filter (where before is null or before <> leader_epoch) as since from viewed group by all),
        lasting as (select *, max(until) over (partition by topic, partition) as ended from by_node)
      select count(*) from (select 1 from lasting where until >= ended - 2000000000 group by topic, partition
        having count(*) > 1 and min(epoch) < max(epoch) and min(until) - max(since) > 10000000000)""",
}
