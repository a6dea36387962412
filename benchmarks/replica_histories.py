"""Synthetic histories of what brokers and controllers report, with a known number of anomalies.

Four brokers describe 36 logs with three replicas each every 0.2 s, and the quorum and ZooKeeper name a controller, as
in a cluster that is migrated to KRaft. A log has an election every 2 minutes. In each period a follower leaves the
ISR for 10 s. In every fourth period both followers leave it for 20 s, and nothing is acknowledged. Every fourth
period ends with 2 s without leader and ISR. Half of the brokers learn of changes 0.2 s later. The leader of every
second log is asked to delete records once in a period. Controllers change every minute. A record is sent to each log
every 0.2 s. DuckDB makes the rows.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from benchmarks.made_history import MadeHistory, write_made
from workloads.history.schema import HARNESS, VALUE_BITS

TOPICS, PARTITIONS, BROKERS, REPLICAS, MIN_ISR = 3, 12, 4, 3, 2
LOGS = TOPICS * PARTITIONS
TERM = 600
"""Samples of a log by a broker between two elections."""
STAGGER = 10
"""Samples by which the elections of a log come before those of the log before it."""
CONTROLLER_TERM = 300
"""Samples between two elections of a controller."""
ROWS = LOGS * BROKERS + 2
"""Of a sample of everything."""
SAMPLE, ANSWER = 200_000_000, 3_000_000
"""ns between two samples, and until an answer arrives."""
BEGIN = 1_000_000_000
"""ns, of the first sample."""
ALONE, LEADERLESS = 1, 2
"""Remainders of term and log of the terms in which the leader is alone in the ISR, and that end without a leader."""
GROUPS = 4
"""Logs with the same remainder have the same kinds of terms."""
PLANTS = {
    # anomaly: (remainder of its logs, term, sample of the term)
    "acks-below-min-isr": (0, 1, 310),
    "watermark-above-end": (0, 1, 20),
    "watermark-regression": (0, 1, 40),
    "log-start-regression": (0, 1, 60),
    "two-leaders-in-epoch": (0, 1, 170),
    "leader-outside-isr": (0, 1, 180),
    "metadata-regression": (0, 1, 190),
    "replica-below-watermark": (0, 1, 250),
    "replica-divergence": (1, 1, 0),
    "ineligible-leader": (1, 1, 595),
    "eligible-conflict": (2, 1, 500),
    "metadata-disagreement": (2, None, 0),
    "leader-below-watermark": (3, 1, 0),
    "unclean-truncation": (3, 2, 0),
    "unexplained-log-start": (3, 0, TERM - 2),
}
"""By anomaly of a log. A term of None is the last one."""
OF_CONTROLLERS = ("controller-conflict", "controller-regression")
"""One in each of the first terms of the controllers but the very first one."""
MOST = LOGS // GROUPS


@dataclass(frozen=True, kw_only=True)
class ReplicaShape:
    """records: the number of samples. planted: the number of each anomaly."""

    records: int
    planted: int = 0

    @property
    def samples(self) -> int:
        """Whole terms, and some more, so that no log has an election within the last 20 s."""
        return max(3, self.records // (ROWS * TERM)) * TERM + 100

    def expected(self) -> dict[str, int]:
        """Anomaly to number."""
        if not self.planted:
            return {}
        return dict.fromkeys(sorted([*PLANTS, *OF_CONTROLLERS]), self.planted)


_PLANTS = ", ".join(
    f"('{kind}', {log}, {'null' if term is None else term}, {sample})"
    for kind, (log, term, sample) in PLANTS.items()
)
_AT = f"({BEGIN} + r * {SAMPLE}::bigint)"

# step: sample r of a log, its term e, and the sample q of the term; sends counts those before. seen: the same as
# broker `node` describes it, late or not.
TABLES = f"""
create macro member(log, number) as (log + number % {REPLICAS}) % {BROKERS};
create macro is_of(e, log, kind) as (e + log) % {GROUPS} = kind;
create macro is_alone(e, q, log) as is_of(e, log, {ALONE}) and q between 300 and 399;
create macro is_leaderless(e, q, log) as is_of(e, log, {LEADERLESS}) and q >= 590;
create table plant as
  select kind, number * {GROUPS} + remainder as log,
    coalesce(e, ($samples - 1 + {STAGGER} * (number * {GROUPS} + remainder)) // {TERM}) as e, q
  from (values {_PLANTS}) p(kind, remainder, e, q)
    cross join range($planted) n(number);
create table step as
  select log, r, e, q, is_sent, sum(is_sent::int) over (partition by log order by r) - is_sent::int as sends
  from (
    select log, r, s // {TERM} as e, s % {TERM} as q,
      not is_alone(s // {TERM}, s % {TERM}, log) and not is_leaderless(s // {TERM}, s % {TERM}, log)
        or exists (from plant p where p.kind = 'acks-below-min-isr' and p.log = l.log and p.e = s // {TERM}
          and s % {TERM} between p.q and p.q + 1) as is_sent
    from range($samples) t(r) cross join range({LOGS}) l(log), lateral (select r + {STAGGER} * log as s));
create table deleted as
  select log, e, max(sends) filter (where q <= 400) as below,
    max({_AT}) filter (where q = 420) as moment, log % 2 = 0 and moment is not null as is_requested
  from step group by log, e;
create table seen as
  select v.*, p.kind, coalesce(if(v.q > 420, d.below, b.below), 0) as log_start
  from (
    select log, n.node, r, greatest(r - n.node % 2, 0) + {STAGGER} * log as s, s // {TERM} as e, s % {TERM} as q,
      sends, {_AT} + n.node * 1000000 + (hash(r, n.node) % 500000)::bigint as asked,
      (n.node - log % {BROKERS} + {BROKERS}) % {BROKERS} as number
    from step cross join range({BROKERS}) n(node)) v
  left join plant p on p.log = v.log and p.e = v.e and p.q = v.q
  left join deleted d on d.log = v.log and d.e = v.e and d.is_requested
  left join deleted b on b.log = v.log and b.e = v.e - 1 and b.is_requested;
create table described as
  select *, leader = node as leads, number < {REPLICAS} as is_replica,
    case when leader < 0 then []::int[]
      when is_alone(e, q, log) then [leader]
      when q between 100 and 149 or is_cut then [leader, member(log, e + 2)]
      else [leader, member(log, e + 1), member(log, e + 2)] end as isr
  from (
    select s.*, if(is_leaderless(s.e, s.q, s.log), -1, member(s.log, s.e)) as leader,
      2 * s.e + is_leaderless(s.e, s.q, s.log)::int as leader_epoch,
      u.kind is not null and s.q >= {TERM - 30} as is_cut, l.kind is not null as is_ahead
    from (
      select v.* replace (if(w.log is not null and number = {REPLICAS}, v.e - 1, v.e) as e,
        if(w.log is not null and number = {REPLICAS}, {TERM - 1}, v.q) as q)
      from seen v left join (from plant where kind = 'metadata-disagreement') w on w.log = v.log and w.e = v.e) s
    left join (from plant where kind = 'unclean-truncation') u on u.log = s.log and u.e = s.e + 1
    left join (from plant where kind = 'unexplained-log-start') l on l.log = s.log and l.e = s.e and s.q >= l.q);
"""

RECORDS_OF = f"""
select 'send' as f, log::bigint << {VALUE_BITS} | sends as op, log as process, sends as index, 'ok' as type,
  {_AT} + 20000000 as invoked, {_AT} + 70000000 as completed, sends as "offset",
  log::bigint << {VALUE_BITS} | sends as value, 0 as assignment
from step where is_sent and $topic = 'ledger-' || log // {PARTITIONS} and $partition = log % {PARTITIONS}
order by index
"""

OPERATIONS_OF = f"""
select 'topic' as f, 'ok' as type, t + (1::bigint << 50) as op, {HARNESS} as process, 1 as invoked, 2 as completed,
  'ledger-' || t as topic, null as partition, null as start_offset, null as end_offset,
  json_object('event', 'created', 'id', 'id-' || t, 'partitions', {PARTITIONS}, 'replication_factor', {REPLICAS},
    'config', json_object('cleanup.policy', 'delete', 'retention.bytes', '-1', 'retention.ms', '604800000'))::text
    as value
from range({TOPICS}) t(t)
union all
select 'worker', 'ok', log + (2::bigint << 50), {HARNESS}, 3, 4, null, null, null, null,
  json_object('role', 'producer', 'process', log, 'event', 'started', 'acks', 'all')::text
from range({LOGS}) l(log)
union all
select 'deletion', if(answered = 1, 'ok', 'info'), (3::bigint << 50) + e * {LOGS} + log, {LOGS}, moment,
  if(answered = 1, moment + 2000000, null), 'ledger-' || log // {PARTITIONS}, log % {PARTITIONS}, 0, below,
  if(answered = 1, json_object('node', member(log, e), 'low_watermark', below)::text, '{{}}')
from deleted cross join range(2) a(answered) where is_requested
union all
select 'divergence', 'ok', (4::bigint << 50) + log, {HARNESS}, 1::bigint << 60, (1::bigint << 60) + 1,
  'ledger-' || log // {PARTITIONS}, log % {PARTITIONS}, 7, null,
  json_object('different', 1, 'copies', json_object('0', null, '1', null))::text
from plant where kind = 'replica-divergence'
"""

OBSERVATIONS_OF = f"""
with described_so as (
  select *, coalesce(kind, '') as anomaly,
    if(leads and anomaly in ('leader-below-watermark', 'unclean-truncation'), 5, 0) as lacks,
    anomaly = 'metadata-regression' and number = {REPLICAS} as is_old
  from described
)
select 'partition' as kind, asked, asked + {ANSWER} + (hash(asked) % 500000)::bigint as time,
  node, 'ledger-' || log // {PARTITIONS} as topic,
  log % {PARTITIONS} as partition,
  case when is_old then member(log, e - 1)
    when anomaly = 'two-leaders-in-epoch' and number = {REPLICAS} then member(log, e + 1) else leader end as leader,
  leader_epoch - if(is_old, 2, 0) as leader_epoch,
  if(anomaly = 'leader-outside-isr' and number = {REPLICAS}, isr[2:], isr) as isr,
  [member(log, 0), member(log, 1), member(log, 2)] as replicas,
  case when not is_replica or leader < 0 then null
    when leads and is_ahead then log_start + 1
    when leads and anomaly = 'log-start-regression' then log_start - 1 else log_start end as log_start,
  case when not is_replica or leader < 0 then null
    when leads then sends - lacks - if(anomaly = 'watermark-regression', 3, 0)
    else greatest(sends - 1, 0) end as high_watermark,
  case when not is_replica then null
    when leads then sends - lacks - if(anomaly = 'watermark-above-end', 2, 0)
    when anomaly = 'replica-below-watermark' and number = (e + 2) % {REPLICAS} then sends - 40
    when list_contains(isr, node) then sends else greatest(sends - 10, 0) end as log_end,
  if(is_replica and leader >= 0, greatest(sends - 1, 0), null) as last_stable,
  (r + 700 * node) // 3000 as connection, null as value
from described_so
union all
select 'eligible', {_AT} + 500000, {_AT} + 900000, r % {BROKERS}, 'ledger-' || log // {PARTITIONS},
  log % {PARTITIONS}, if(what = 'leaderless', -1, member(log, e)), 2 * e + (what = 'leaderless')::int,
  case what when 'leaderless' then [] when 'alone' then [member(log, e)]
    else [member(log, 0), member(log, 1), member(log, 2)] end,
  [member(log, 0), member(log, 1), member(log, 2)], null, null, null, null, null,
  json_object('eligible', eligible, 'last_known', if(what = 'leaderless', [member(log, e)], []))::text
from (
  select s.*, case when q = 590 then 'leaderless' when q = 300 then 'alone' else 'whole' end as what,
    case what when 'alone' then [member(log, e + 1), member(log, e + 2)]
      when 'leaderless' then if(exists (
          from plant p where p.kind = 'ineligible-leader' and p.log = s.log and p.e = s.e
        ), [member(log, e + 2)], [member(log, e + 1), member(log, e + 2)])
      else [] end as eligible
  from step s
  where q = 0 or is_of(e, log, {ALONE}) and q in (300, 400) or is_of(e, log, {LEADERLESS}) and q = 590
  union all
  select s.*, 'whole', [member(log, e + 1)] from step s semi join (
    from plant where kind = 'eligible-conflict') p using (log, e, q)
)
union all
select 'quorum', {_AT} + 10000000, {_AT} + 11000000, r % {BROKERS}, null, null,
  100 + (term + is_second::int) % 3, term + 1, null, null, null, r, r, null, null,
  json_object('ends', json_object('100', r, '101', r, '102', r))::text
from (
  select r, r // {CONTROLLER_TERM} as term, term between 1 and $planted and r % {CONTROLLER_TERM} = 100 as is_second
  from range($samples) t(r))
union all
select 'controller', {_AT} + 20000000, {_AT} + 21000000, null, null, null, term % {BROKERS}, term + 1, null, null,
  null, null, null, null, 0, null
from (
  select r, r // {CONTROLLER_TERM} - (
    r // {CONTROLLER_TERM} between 1 and $planted and r % {CONTROLLER_TERM} = 200)::int as term
  from range($samples) t(r))
union all
select 'settings', 5, 6, 0, 'ledger-' || t, null, null, null, null, null, null, null, null, null, null,
  json_object('cleanup.policy', 'delete', 'min.insync.replicas', '{MIN_ISR}', 'retention.bytes', '-1',
    'retention.ms', '604800000', 'unclean.leader.election.enable', 'false')::text
from range({TOPICS}) t(t)
order by time
"""


def make_replicas(records: int, planted: int, run: Path) -> dict[str, int]:
    """Write a history as compaction leaves it, and return the numbers of its anomalies. Needs the package duckdb."""
    shape = ReplicaShape(records=records, planted=planted)
    assert planted <= MOST, shape
    assert planted < shape.samples // CONTROLLER_TERM, f"{shape}: too few samples"
    made = MadeHistory(
        topic="",
        logs=[(f"ledger-{topic}", partition) for topic in range(TOPICS) for partition in range(PARTITIONS)],
        tables=TABLES,
        records=RECORDS_OF,
        operations=OPERATIONS_OF,
        observations=OBSERVATIONS_OF,
        parameters={"samples": shape.samples, "planted": planted},
        constants={"process": HARNESS},
    )
    write_made(made, run)
    return shape.expected()
