"""Synthetic histories of a share group, with a known number of anomalies.

Half of the records are sends, the rest are polled by final readers. Besides, each record is delivered to a consumer
of the group, 100 of a log at a time, and acknowledged, which takes two rows. One delivery in 50 is released, and the
record delivered once more; one in 500 is rejected. There are no faults, and no client ends. DuckDB makes the rows.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from benchmarks.made_history import MadeHistory, write_made
from workloads.history.schema import VALUE_BITS

TOPIC, GROUP = "jobs", "workers"
LOGS, PRODUCERS, CONSUMERS = 8, 8, 4
CHUNK = 100
"""Records of a log that a consumer gets in a poll."""
SPACING = 100_000
"""ns from one send to the next."""
LOCK, LIMIT = 30_000_000_000, 5
"""Of the group: the duration of its locks (ns), and the deliveries after which it archives a record."""
FIRST_CONSUMER, FIRST_READER = 200, 100
KINDS = ("queue-lost", "queue-unfinished", "queue-double-holder", "queue-redelivery", "queue-delivery-count")


@dataclass(frozen=True, kw_only=True)
class QueueShape:
    """planted: the number of each anomaly, at most `LOGS`."""

    records: int
    planted: int = 0

    @property
    def sends(self) -> int:
        """Whole chunks of all logs."""
        return max(1, self.records // (2 * LOGS * CHUNK)) * LOGS * CHUNK

    def expected(self) -> dict[str, int]:
        """Anomaly to number."""
        return dict.fromkeys(sorted(KINDS), self.planted) if self.planted else {}


# Of record t: its log, its offset k, and its chunk c of the log. A plant of each kind lies in a chunk of its own;
# unfinished records are the last ones of their logs.
TABLES = f"""
create macro sent_at(k, log) as 1000000 + (k * {LOGS} + log) * {SPACING};
create macro polled_at(c, log) as sent_at(c * {CHUNK} + {CHUNK - 1}, log) + 1000000;
create macro consumer(c, log) as {FIRST_CONSUMER} + (c + log) % {CONSUMERS};
create macro released(k) as k % 50 = 7;
create table record as
  select t, t % {LOGS} as log, t // {LOGS} as k, t // {LOGS} // {CHUNK} as c, t % {PRODUCERS} as producer,
    producer::bigint << {VALUE_BITS} | t // {PRODUCERS} as value
  from (select range // {LOGS} as k, range % {LOGS} as log, range as t from range($sends));
create table plant as
  select kind, log, if(kind = 'queue-unfinished', $sends // {LOGS} - 1,
    (select min(k) from record r where r.log = p.log and r.k > nth * {CHUNK}
      and released(r.k) = (kind = 'queue-delivery-count'))) as k
  from (select unnest({list(KINDS)!r}) as kind, unnest(range({len(KINDS)})) + 1 as nth, log
    from range($planted) r(log)) p;
create table delivery as
  select 2 * t as op, log, k, value, 1 as count, consumer(c, log) as process, polled_at(c, log) as polled,
    case when released(k) then 'release' when k % 500 = 11 then 'reject' else 'accept' end as kind
  from record anti join (from plant where kind in ('queue-lost', 'queue-unfinished')) using (log, k)
  union all
  select 2 * t + 1, log, k, value, if(p.kind is null, 2, 1), consumer(c + 1, log), polled_at(c + 1, log), 'accept'
  from record left join (from plant where kind = 'queue-delivery-count') p using (log, k)
    anti join (from plant where kind in ('queue-lost', 'queue-unfinished')) using (log, k)
  where released(k)
  union all
  select 2 * t + 1, log, k, value, if(kind = 'queue-redelivery', 2, 1), consumer(c + 1, log),
    if(kind = 'queue-redelivery', polled_at(c + 1, log), polled_at(c, log) + 300000), 'accept'
  from record join plant using (log, k) where kind in ('queue-double-holder', 'queue-redelivery');
"""

RECORDS_OF = f"""
select 'send' as f, value as op, producer as process, k as index, 'ok' as type, sent_at(k, log) as invoked,
  invoked + 400000 + hash(t) % 500000 as completed, k as "offset", value, 0 as assignment, false as final,
  null as committed
from record where log = $partition
union all
select 'poll', (2::bigint << 42) + k // 500 * {LOGS} + log, {FIRST_READER} + log, k, 'ok',
  (1::bigint << 50) + k // 500 * 3000000, (1::bigint << 50) + k // 500 * 3000000 + 2000000, k, value, 1, true, false
from record where log = $partition
order by process, f, assignment, index
"""

OPERATIONS_OF = f"""
select 'delivery' as f, (3::bigint << 42) + op as op, process, 'ok' as type, polled as invoked,
  polled + 1000000 as completed, log as partition, k as start_offset, null as end_offset,
  format('{{{{"value": {{}}, "deliveries": {{}}, "since": {{}}}}}}', value, count, polled - 200000) as value,
  '{GROUP}' as "group"
from delivery
union all
select 'acknowledgement', (4::bigint << 42) + op, process, if(known, 'ok', 'info'), polled + 1500000,
  if(known, polled + 3000000, null), log, k, null,
  format('{{{{"delivery": {{}}, "kind": "{{}}"}}}}', (3::bigint << 42) + op, kind), '{GROUP}'
from delivery cross join (select unnest([false, true]) as known)
union all
select 'queue', (5::bigint << 42) + log, {FIRST_CONSUMER + CONSUMERS}, 'ok', 1::bigint << 49,
  (1::bigint << 49) + 1000, log, null, $sends // {LOGS} - if(p.kind is null, 0, 1),
  '{{"lock": {LOCK}, "delivery_limit": {LIMIT}}}', '{GROUP}'
from range({LOGS}) r(log) left join (from plant where kind = 'queue-unfinished') p using (log)
union all
select 'final-read', (6::bigint << 42) + log, {FIRST_READER} + log, 'ok', (1::bigint << 50) - 1, 1::bigint << 60, log,
  0, $sends // {LOGS}, null, null
from range({LOGS}) r(log)
"""

OBSERVATIONS_OF = "select null::bigint as time where false"


def make_queues(records: int, planted: int, run: Path) -> dict[str, int]:
    """Write a history as compaction leaves it, and return the numbers of its anomalies. Needs the package duckdb."""
    shape = QueueShape(records=records, planted=planted)
    assert planted <= LOGS, shape
    assert not planted or shape.sends > 2 * len(KINDS) * LOGS * CHUNK, f"{shape}: too few records"
    made = MadeHistory(
        topic=TOPIC,
        logs=[(TOPIC, log) for log in range(LOGS)],
        tables=TABLES,
        records=RECORDS_OF,
        operations=OPERATIONS_OF,
        observations=OBSERVATIONS_OF,
        parameters={"sends": shape.sends, "planted": planted},
    )
    write_made(made, run)
    return shape.expected()
