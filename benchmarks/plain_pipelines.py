"""The checks of applications as plain SQL: one query for each check, nothing shared.

They leave out what the histories of `pipeline_histories` do not have: positions and outputs that are unknown. Needs
the package duckdb.
"""

from __future__ import annotations

from benchmarks.plain import VIEWS as OF_LOGS

VIEWS = f"""
{OF_LOGS}
create view pipelines as select topic, partition, end_offset as position, value->>'$.sink' as sink,
    value->>'$.guarantee' as guarantee
  from operations where f = 'pipeline' and type = 'ok';
create view outputs as select distinct topic as sink, partition as sink_partition, start_offset as "at",
    (value->>'$.source')::bigint as value
  from operations where f = 'output';
create view inputs as select topic, partition, value, min("offset") as "offset", max("offset") as last_offset,
    max(key) as key
  from polls where final and error is null group by all;
"""

QUERIES = {
    "missing-output": """
      select count(*) from inputs join pipelines using (topic, partition) anti join outputs using (sink, value)
      where "offset" < position and guarantee in ('at-least-once', 'exactly-once', 'order-per-key')""",
    "unprocessed-input": """
      select count(*) from inputs join pipelines using (topic, partition) anti join outputs using (sink, value)
      where "offset" >= position""",
    "duplicate-output": """
      select count(*) from inputs join pipelines using (topic, partition)
        join (select sink, value from outputs group by all having count(*) > 1) using (sink, value)
      where "offset" = last_offset and guarantee in ('exactly-once', 'at-most-once')""",
    "reordered-output": """
      with placed as (select topic, partition, key, value, "offset", sink, sink_partition, min("at") as "at"
          from inputs join pipelines using (topic, partition) join outputs using (sink, value)
          where guarantee = 'order-per-key' and key is not null group by all)
      select count(*) from (select "offset", max("offset") over (partition by topic, partition, key, sink,
        sink_partition order by "at" range between unbounded preceding and 1 preceding) as overtaker from placed)
      where overtaker > "offset" """,
    "invented-output": """
      with fed as (select distinct sink, value from sends join pipelines using (topic, partition))
      select count(distinct (sink, sink_partition, "at")) from outputs semi join pipelines using (sink)
        anti join fed using (sink, value)""",
    "wrong-aggregate": """
      select count(*) from operations where f = 'aggregate' and type = 'ok' and value->>'$.wrong' is not null""",
}
