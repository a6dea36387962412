"""The check of what administrators changed as plain SQL.

It leaves out what the histories of `administered_histories` do not have: inspections that overlap changes, and
changes with an unknown outcome. Needs the package duckdb.
"""

from __future__ import annotations

VIEWS = """
create view operations as select * from read_parquet('{history}/operations/*.parquet');
create view alters as select topic, type, invoked, completed, value->>'$.change' as change,
    (value->>'$.partitions')::int as partitions, (value->>'$.retention_ms')::bigint as retention
  from operations where f = 'alter' and type <> 'fail';
create view inspects as select topic, invoked, completed, (value->>'$.exists')::boolean as there,
    (value->>'$.partitions')::int as partitions, (value->>'$.retention_ms')::bigint as retention
  from operations where f = 'inspect' and type = 'ok';
"""

QUERIES = {
    "forgotten-change": """
      with compared as (select i.*, a.change = 'delete' as deleted, p.partitions as wanted,
          r.retention as wanted_retention from inspects i
        asof join alters a on a.topic = i.topic and i.invoked >= a.completed
        asof left join (from alters where partitions is not null) p on p.topic = i.topic and i.invoked >= p.completed
        asof left join (from alters where retention is not null) r on r.topic = i.topic and i.invoked >= r.completed)
      select count(*) from compared where if(deleted, there,
        not there or coalesce(partitions < wanted, false) or coalesce(retention <> wanted_retention, false))""",
}
