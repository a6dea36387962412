"""Synthetic histories of a compacted topic, its readers and its leaders, with a known number of anomalies.

Two of seven records are sends, four are polled by two readers of all logs, and one by final readers, which find the
later half of each log because compaction has removed the rest. One send in 101 has an unknown outcome. A key has 20
records; a fifth of the keys end with a tombstone. The leader of each log answers twice a second; a reader searches
for the time of one record in 1000. There are no faults. DuckDB makes the rows.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from benchmarks.made_history import MadeHistory, write_made
from workloads.history.schema import HARNESS, VALUE_BITS

TOPIC = "profiles"
LOGS, PRODUCERS, BROKERS = 8, 8, 3
OF_KEY = 20
"""Records of a key."""
POLL = 100
"""Records of a log in a poll."""
SPACING = 100_000
"""ns from one send to the next."""
POLL_LIMIT = 3.0
"""Seconds within which a reader gets what is there."""
FIRST_READER, FIRST_FINAL = 200, 100
KINDS = (
    "risen-key", "read-above-watermark", "wrong-offset-for-time", "stalled-reader", "overtaken-write",
)  # fmt: skip


@dataclass(frozen=True, kw_only=True)
class ReaderShape:
    """planted: the number of each anomaly, at most `LOGS`."""

    records: int
    planted: int = 0

    @property
    def of_log(self) -> int:
        """Sends to each log: whole polls of each round of its keys."""
        step = OF_KEY * POLL
        return max(1, 2 * self.records // (7 * LOGS * step)) * step

    def expected(self) -> dict[str, int]:
        """Anomaly to number."""
        return dict.fromkeys(sorted(KINDS), self.planted) if self.planted else {}


# Of record k of a log: its key and its round, in which each key has one record; when it was sent and polled (ns). The
# plants lie in the last round. The second reader stalls after three tenths of the logs with plants.
TABLES = f"""
create macro sent_at(k, log) as 1000000 + (k::bigint * {LOGS} + log) * {SPACING};
create macro polled_at(c, log) as sent_at((c + 1) * {POLL}, log) + 1000000;
create table plant as
  select kind, log, $of_log // {OF_KEY} * {OF_KEY - 1} + 10 + 15 * number as k
  from (select unnest({list(KINDS)!r}) as kind, unnest(range({len(KINDS)})) as number)
    cross join range($planted) r(log);
create table record as
  select k, log, k // {POLL} as c, k % ($of_log // {OF_KEY}) as place, place * {LOGS} + log as key,
    (k // ($of_log // {OF_KEY}) + place) % 5 = 4 as tombstone,
    (k % {PRODUCERS})::bigint << {VALUE_BITS} | (k // {PRODUCERS} * {LOGS} + log) as value,
    k % 101 = 7 or p.kind is not null as is_unknown,
    sent_at(if(p.kind is null, k, k + 20), log) as sent
  from range($of_log) r(k) cross join range({LOGS}) l(log)
    left join (from plant where kind = 'overtaken-write') p using (log, k);
"""

RECORDS_OF = f"""
select * from (
select 'send' as f, value as op, k % {PRODUCERS} as process, k as index, if(is_unknown, 'info', 'ok') as type,
  sent as invoked, if(is_unknown, null, sent + 400000 + hash(k) % 500000) as completed,
  if(is_unknown, null, k) as "offset", value, 0 as assignment, false as final, null as committed, key, tombstone,
  null as node, null as leader_epoch, null as fetched
from record where log = $partition
union all
select 'poll', (2::bigint << 42) + (c * {LOGS} + log) * 2 + reader, {FIRST_READER} + reader, k, 'ok',
  polled_at(c, log) + reader * 2000000, polled_at(c, log) + reader * 2000000 + 1000000, k, value, 1, false, false,
  key, tombstone, log % {BROKERS}, 0, polled_at(c, log) + reader * 2000000 + 900000
from record cross join range(2) r(reader)
where log = $partition
  and not (reader = 0 and exists (from plant p where p.kind = 'risen-key' and p.log = record.log and p.k = record.k))
  and not (reader = 1 and log < $planted and k >= $of_log * 3 // 10)
union all
select 'poll', (3::bigint << 42) + k // 500 * {LOGS} + log, {FIRST_FINAL} + log, k, 'ok',
  (1::bigint << 50) + k // 500 * 3000000, (1::bigint << 50) + k // 500 * 3000000 + 2000000, k, value, 1, true, false,
  key, tombstone, log % {BROKERS}, 0, (1::bigint << 50) + k // 500 * 3000000 + 1900000
from record where log = $partition and k >= $of_log // 2
) order by process, f, assignment, index
"""

OPERATIONS_OF = f"""
select *, row_number() over () + (4::bigint << 42) as op from (
select 'search' as f, {FIRST_READER} as process, 'ok' as type, polled_at(c, log) + 1500000 as invoked,
  polled_at(c, log) + 1600000 as completed, log as partition, k as start_offset,
  k + if(p.kind is null, 0, 5) as end_offset, '{TOPIC}' as topic,
  format('{{{{"timestamp": {{}}, "value": {{}}, "found": {{}}}}}}', sent // 1000000, value, sent // 1000000) as value
from record left join (from plant where kind = 'wrong-offset-for-time') p using (log, k)
where k % 1000 = 3 or p.kind is not null
union all
select 'final-read', {FIRST_FINAL} + log, 'ok', (1::bigint << 50) - 1, 1::bigint << 60, log, 0, $of_log,
  '{TOPIC}', null
from range({LOGS}) r(log)
union all
select 'topic', {HARNESS}, 'ok', 1, 2, null, null, null, '{TOPIC}',
  '{{"event": "created", "partitions": {LOGS}, "config": {{"cleanup.policy": "compact", "retention.ms": "-1", '
    || '"retention.bytes": "-1", "delete.retention.ms": "86400000"}}}}'
union all
select 'worker', {HARNESS}, 'ok', if(ends = 1, sent_at($of_log, 0) + 50000000, 3),
  if(ends = 1, sent_at($of_log, 0) + 50000000, 4), null, null, null, null,
  format('{{{{"role": "reader", "process": {{}}, "event": "{{}}"{{}}}}}}', {FIRST_READER} + reader,
    if(ends = 1, 'stopped', 'started'), if(ends = 1, '', ', "poll_limit": {POLL_LIMIT}'))
from range(2) r(reader) cross join range(2) e(ends)
)
"""

OBSERVATIONS_OF = f"""
select 'partition' as kind, {HARNESS} as process, log % {BROKERS} as node, node as leader, 0 as leader_epoch,
  [0, 1, 2] as isr, asked, asked + 100000 as time, log as partition, mark as high_watermark, mark as log_end,
  mark as last_stable, 0 as log_start
from (
  select log, sent_at(k, log) as asked, least(k, $of_log) as mark
  from range({LOGS}) l(log) cross join range(0, $of_log + 2000, {500_000_000 // (SPACING * LOGS)}) r(k)
  union all
  select log, polled_at(k // {POLL}, log) + 1500000, (k // {POLL} + 1) * {POLL} - 1
  from plant where kind = 'read-above-watermark')
"""


def make_readers(records: int, planted: int, run: Path) -> dict[str, int]:
    """Write a history as compaction leaves it, and return the numbers of its anomalies. Needs the package duckdb."""
    shape = ReaderShape(records=records, planted=planted)
    assert planted <= LOGS, shape
    made = MadeHistory(
        topic=TOPIC,
        logs=[(TOPIC, log) for log in range(LOGS)],
        tables=TABLES,
        records=RECORDS_OF,
        operations=OPERATIONS_OF,
        observations=OBSERVATIONS_OF,
        parameters={"of_log": shape.of_log, "planted": planted},
    )
    write_made(made, run)
    return shape.expected()
