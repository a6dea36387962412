"""The checks of copies as plain SQL: one query for each check, nothing shared.

They leave out what the histories of `copy_histories` do not have: resets, copies of unknown outcome or without a
transaction, duplicates in the source, and logs that lost their beginning. Needs the package duckdb.
"""

from __future__ import annotations

from benchmarks.plain import VIEWS as OF_LOGS

VIEWS = f"""
{OF_LOGS}
create view members as select distinct process, "group" from operations where f in ('member', 'commit');
create view copies as select "group", topic, source, value from sends join members using (process)
  where source is not null and type = 'ok';
create view copiers as select distinct "group" from sends join members using (process) where source is not null;
create view passed as select "group", topic, partition, max(end_offset) as position
  from operations semi join copiers using ("group") where f = 'commit' and type = 'ok' group by all;
create view begun as select "group", topic, partition, min(start_offset) as start
  from operations where f = 'member' and value->>'$.event' = 'assigned' group by all;
create view kept as select distinct topic, partition, value, "offset" from polls
  join final_read r using (topic, partition)
  where polls.error is null and final and committed and polls.process = r.process and polls.invoked >= r.invoked;
"""

QUERIES = {
    "lost-copy": """
      select count(*) from kept join passed using (topic, partition) join begun using ("group", topic, partition)
        anti join (select "group", source as value from copies) using ("group", value)
      where "offset" < position and "offset" >= start""",
    "duplicate-copy": """
      select count(distinct ("group", source)) from (
        select "group", topic, source from copies group by all having count(distinct value) > 1)""",
}
