"""The checks of what coordinators report as plain SQL: one query for each check, nothing shared.

They leave out what the histories of `coordinated_histories` do not have: faults and changes of topics, groups with a
cooperative assignor, and samples over an unknown connection. Needs the package duckdb.
"""

from __future__ import annotations

VIEWS = """
create view observations as select * from read_parquet('{history}/observations/*.parquet');
create view groups as select node, connection, time, asked, unnest(json_transform(value,
    '{"group": "VARCHAR", "type": "VARCHAR", "state": "VARCHAR", "epoch": "INTEGER", "assigned_epoch": "INTEGER",
      "members": "JSON", "positions": "JSON"}'))
  from observations where kind = 'group_state';
create view transactions as
  select *, nullif(regexp_extract(state, '(Commit|Abort)$', 1), '') as outcome,
    case when state = 'Ongoing' then 0 when state like 'Prepare%' then 1
      when state like 'Complete%' then 2 end as step
  from (select node, connection, time, asked, unnest(json_transform(value,
      '{"transactional_id": "VARCHAR", "state": "VARCHAR", "producer_id": "BIGINT", "epoch": "INTEGER",
        "started": "BIGINT"}'))
    from observations where kind = 'transaction');
"""


def _with_earlier(rows: str, keys: str, answered: str, more: str = "null") -> str:
    """Each answer with the highest `answered` of those with the same keys that had arrived before it was
    requested."""
    return f"""
      with line as (
        select {keys}, time as moment, 1 as kind, {answered} as answered, null as mine, null as more from {rows}
        union all select {keys}, asked, 0, null, {answered}, {more} from {rows}),
        compared as (select kind, mine, more, max(answered) over (partition by {keys}
          order by moment, kind rows between unbounded preceding and 1 preceding) as earlier from line)
      select count(*) from compared where kind = 0"""


QUERIES = {
    "group-state-conflict": """
      select count(*) from (select *, len(json_keys(members)) as n from groups)
      where state in ('Empty', 'Dead') and n > 0 or state in ('Stable', 'Assigning', 'Reconciling') and n = 0
        or assigned_epoch > epoch or type = 'consumer' and (state = 'Assigning' and assigned_epoch >= epoch
          or state in ('Stable', 'Reconciling') and assigned_epoch < epoch)""",
    "group-epoch-regression": _with_earlier("groups", 'node, connection, "group"', "epoch")
    + " and mine < earlier",
    "unexplained-rebalance": """
      with known as (select node, connection, "group", time, epoch, list_sort(json_keys(members)) as members
          from groups where type = 'classic' and epoch is not null)
      select count(*) from (
        select epoch, members, lag((epoch, members)) over (partition by node, connection, "group" order by time)
          as before from known)
      where epoch = before[1] + 1 and members = before[2]""",
    "position-regression": """
      with entries as (select node, connection, "group", epoch, list_sort(json_keys(members)) as members, time, asked,
          unnest(map_entries(json_transform(positions, '"MAP(VARCHAR, BIGINT)"'))) as entry from groups),
        line as (
          select node, connection, "group", epoch, members, entry.key as log, time as moment, 1 as kind,
            entry.value as position from entries
          union all select node, connection, "group", epoch, members, entry.key, asked, 0, entry.value from entries)
      select count(*) from (select kind, position, max(if(kind = 1, position, null)) over (
          partition by node, connection, "group", epoch, members, log
          order by moment, kind rows between unbounded preceding and 1 preceding) as farthest from line)
      where kind = 0 and position < farthest""",
    "transaction-state-regression": _with_earlier(
        "(from transactions where started <> -1)",
        "node, connection, transactional_id, producer_id, started",
        "{'step': coalesce(step, -1), 'outcome': outcome}",
        "outcome",
    )
    + " and (mine.step < earlier.step or mine.outcome <> earlier.outcome)",
    "producer-epoch-regression": _with_earlier(
        "transactions", "node, connection, transactional_id, producer_id", "epoch"
    )
    + " and mine < earlier",
}
