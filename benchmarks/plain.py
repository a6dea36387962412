"""The checks of the log, of order and of sessions as plain SQL: one query for each check, nothing shared.

Like ours, they trust the column `previous`. They leave out group members that continue where another generation
ended, and the order within keys. Needs the package duckdb.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

VIEWS = """
create view records as select * from read_parquet('{history}/records/*.parquet');
create view operations as select * from read_parquet('{history}/operations/*.parquet');
create view sends as select * from records where f = 'send';
create view polls as select * from records where f = 'poll';
create view whole as select * from polls where error is null and value is not null;
create view acked as select * from sends where type = 'ok';
create view final_read as select topic, partition, max(invoked) as invoked, max(process) as process,
    max(coalesce(start_offset, 0)) as log_start, max(end_offset) as log_end
  from operations where f = 'final-read' and type = 'ok' group by all;
create view tops as select topic, partition, max("offset") as top from polls group by all;
create view settled as select a.topic, a.partition, a.value, a."offset", r.log_start,
    coalesce(a.completed <= r.invoked, false) or coalesce(a."offset" < r.log_end, false) as settled
  from acked a left join final_read r using (topic, partition) where a.value is not null;
create view read_finally as select distinct p.topic, p.partition, p.value from whole p
  join final_read r using (topic, partition)
  where p.type = 'ok' and p.final and p.process = r.process and p.invoked >= r.invoked;
create view read_ever as select distinct topic, partition, value from whole;
create view seen as
  select topic, partition, "offset", value, coalesce(completed, invoked) as time, leader_epoch
  from records where value is not null and "offset" is not null
    and ((f = 'send' and type = 'ok') or (f = 'poll' and error is null));
create view shared as select topic, partition, "offset" from seen group by all having min(value) < max(value);
create view conflicting as select topic, partition, "offset", bool_and(follows) as reused from (
  select topic, partition, "offset", coalesce(lag(l) over line < e, true)
      and coalesce(low > coalesce(lag(high) over line, 0), lag(l) over line is null) as follows
  from (select topic, partition, "offset", value, min(time) as e, max(time) as l, min(leader_epoch) as low,
      max(leader_epoch) as high from seen semi join shared using (topic, partition, "offset") group by all)
  window line as (partition by topic, partition, "offset" order by e, value)) group by all;
create view known as
  select topic, partition, "offset" from polls where "offset" is not null
  union all select topic, partition, "offset" from acked where "offset" is not null;
create view users as select coalesce(session, -1 - process) as who from records group by all
  having bool_or(f = 'send' and type = 'ok') and (bool_or(f = 'poll') or who >= 0);
create view reads as select topic, partition, coalesce(session, -1 - process) as who, op, invoked, completed,
    end_offset from operations where f = 'read' and type = 'ok';
create view of_readers as select *, coalesce(session, -1 - process) as who from records
  where coalesce(session, -1 - process) in (select who from reads);
create view of_users as select *, coalesce(session, -1 - process) as who from records
  where coalesce(session, -1 - process) in (select who from users);
"""

SKIP = """
  select count(*) from (select * from {steps} where "offset" > previous + 1 and {where}) s
  asof join {known} k on s.topic = k.topic and s.partition = k.partition and s."offset" > k."offset"
  where k."offset" > s.previous
"""
BACK = 'select count(*) from {steps} where "offset" <= previous and {where}'
WITHIN, BETWEEN = "coalesce(within, false)", "not coalesce(within, false)"


def _poll_skip(where: str) -> str:
    """A reader of committed records is compared only with such readers."""
    uncommitted = SKIP.format(
        steps="polls", known="polls", where=f"{where} and not coalesce(committed, false)"
    )
    committed = SKIP.format(
        steps="polls", known="(select * from polls where committed)", where=f"{where} and committed"
    )
    return f"select ({uncommitted}) + ({committed})"


def _beaten(earlier: str) -> str:
    """Acknowledged sends below an offset that the session knew before it began them."""
    return f"""
      with line as (
        select topic, partition, who, invoked as moment, 0 as kind, "offset", null as had
        from of_users where f = 'send' and type = 'ok' and "offset" is not null
        union all
        select topic, partition, who, coalesce(completed, invoked), 1, null, "offset"
        from of_users where {earlier} and "offset" is not null)
      select count(*) from (select "offset", kind, max(had) over (
        partition by topic, partition, who order by moment, kind rows between unbounded preceding and current row
        ) as had from line) where kind = 0 and "offset" <= had
    """


QUERIES = {
    "lost-write": """
      select count(*) from settled s
        left join (select *, true as found from read_finally) f using (topic, partition, value)
        left join (select *, true as found from read_ever) e using (topic, partition, value)
        left join tops t using (topic, partition)
      where case when s.settled then f.found is null and not coalesce(s."offset" < s.log_start, false)
        else e.found is null and s."offset" <= t.top end""",
    "lost-read": """
      with returned as (select topic, partition, value, min(coalesce(completed, invoked)) as moment,
          min("offset") as "offset", bool_or(coalesce(committed, false)) as committed from whole group by all),
        sent as (select topic, partition, value, bool_or(type = 'fail') as failed,
          bool_or(transaction is not null) as transactional from sends group by all)
      select count(*) from returned p join final_read r using (topic, partition)
        left join (select *, true as found from read_finally) f using (topic, partition, value)
        left join sent s using (topic, partition, value)
        left join (select topic, partition, value, bool_or(settled) as settled from settled group by all) a
          using (topic, partition, value)
      where f.found is null and (p.moment <= r.invoked or p."offset" < r.log_end) and p."offset" >= r.log_start
        and not coalesce(s.failed, false) and (not coalesce(s.transactional, false) or p.committed)
        and not coalesce(a.settled, false)""",
    "unseen": """
      select count(*) from settled s left join tops t using (topic, partition)
        anti join read_ever using (topic, partition, value)
      where not s.settled and not coalesce(s."offset" <= t.top, false)""",
    "expired": """
      select count(*) from settled s anti join read_ever using (topic, partition, value)
      where s."offset" < s.log_start""",
    "duplicate": """
      select count(*) from (select 1 from records where value is not null
        and ((f = 'send' and type = 'ok') or (f = 'poll' and error is null))
        group by topic, partition, value having min("offset") < max("offset"))""",
    "inconsistent-offsets": "select count(*) from conflicting where not reused",
    "offset-reuse": "select count(*) from conflicting where reused",
    "phantom-read": "select count(*) from read_ever anti join sends using (topic, partition, value)",
    "G1a": """
      select count(*) from (select distinct topic, partition, value from whole p
        join (select topic, partition, value, transaction is not null as t from sends where type = 'fail') s
        using (topic, partition, value) where not t or p.committed)""",
    "future-read": """
      select count(*) from (select topic, partition, value, min(completed) as moment from whole group by all)
        join sends s using (topic, partition, value) where moment < s.invoked""",
    "foreign-record": "select count(*) from polls where error in ('foreign', 'misrouted')",
    "corrupt-record": "select count(*) from polls where error = 'corrupt'",
    "nonmonotonic-poll": BACK.format(steps="polls", where=BETWEEN),
    "int-nonmonotonic-poll": BACK.format(steps="polls", where=WITHIN),
    "nonmonotonic-send": BACK.format(steps="acked", where=BETWEEN),
    "int-nonmonotonic-send": BACK.format(steps="acked", where=WITHIN),
    "poll-skip": _poll_skip(BETWEEN),
    "int-poll-skip": _poll_skip(WITHIN),
    "int-send-skip": SKIP.format(steps="acked", known="known", where=WITHIN),
    "realtime-order": """
      select count(*) from (select invoked, min(completed) over (partition by topic, partition
        order by "offset" desc range between unbounded preceding and 1 preceding) as overtaken
        from acked where "offset" is not null) where overtaken < invoked""",
    "read-your-writes": """
      with writes as (select topic, partition, who, value, completed from of_readers
          where f = 'send' and type = 'ok' and completed is not null and value is not null),
        seen_at as (select topic, partition, who, value, min(coalesce(completed, invoked)) as moment
          from of_readers where f = 'poll' and error is null group by all)
      select count(*) from writes w
        asof join reads r on w.topic = r.topic and w.partition = r.partition and w.who = r.who
          and w.completed <= r.invoked
        left join seen_at s on s.topic = w.topic and s.partition = w.partition and s.who = w.who
          and s.value = w.value
      where s.moment is null or s.moment > r.completed""",
    "monotonic-reads": """
      with line as (
        select topic, partition, who, completed as moment, 0 as kind, end_offset as reached, null as ends from reads
        union all select topic, partition, who, invoked, 1, null, end_offset from reads
        union all select topic, partition, who, coalesce(completed, invoked), 2, "offset" + 1, null
          from of_readers where f = 'poll')
      select count(*) from (select ends, max(reached) over (partition by topic, partition, who
        order by moment, kind rows between unbounded preceding and current row) as reached from line)
      where ends < reached""",
    "monotonic-writes": _beaten("f = 'send' and type = 'ok'"),
    "writes-follow-reads": _beaten("f = 'poll'"),
}  # fmt: skip


def counts(
    run: Path, *, threads: int, views: str = VIEWS, queries: Mapping[str, str] = QUERIES
) -> dict[str, int]:
    """Anomaly to number, for anomalies that were found. In `views` and `queries`, ``{history}`` is the folder."""
    import duckdb  # only here, so that the names of the checks can be used without it

    connection = duckdb.connect(config={"threads": threads})
    try:
        connection.execute(views.replace("{history}", str(run / "history")))
        found = {
            anomaly: connection.execute(query.replace("{history}", str(run / "history"))).fetchone()[0]
            for anomaly, query in queries.items()
        }
    finally:
        connection.close()
    return {anomaly: number for anomaly, number in found.items() if number}
