"""Synthetic histories of a group that copies records, with a known number of anomalies.

A fifth of the records are sends, a fifth are polled by the members of the group, a fifth are their copies, and the
rest is polled by final readers, of both topics. Members copy 50 records of a log in a transaction, which has their
position, too. One transaction in 20 is aborted, and its records are copied again. DuckDB makes the rows.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from benchmarks.made_history import MadeHistory, write_made
from workloads.history.schema import VALUE_BITS

SOURCE, OUTPUT, GROUP = "orders", "copies", "copiers"
LOGS, PRODUCERS, MEMBERS = 8, 8, 4
"""Logs of each topic."""
BATCH = 50
"""Records of a log in a transaction."""
SPACING = 100_000
"""ns from one send to the next."""
FIRST_MEMBER, FIRST_READER = 200, 100
KINDS = ("lost-copy", "duplicate-copy")


@dataclass(frozen=True, kw_only=True)
class CopyShape:
    """planted: the number of each anomaly, at most `LOGS`."""

    records: int
    planted: int = 0

    @property
    def of_log(self) -> int:
        """Sends to each log of the source, in whole batches."""
        return max(1, self.records // (5 * LOGS * BATCH)) * BATCH

    def expected(self) -> dict[str, int]:
        """Anomaly to number."""
        return dict.fromkeys(sorted(KINDS), self.planted) if self.planted else {}


# Of record k of a log: its value, when it was sent (ns), and its batch b. A batch takes 104 offsets of the output:
# the copies and the marker of an aborted transaction, those of a committed one, and a second copy that a plant adds.
TABLES = f"""
create macro sent_at(k, log) as 1000000 + (k * {LOGS} + log) * {SPACING};
create macro polled_at(b, log) as sent_at((b + 1) * {BATCH}, log) + 1000000;
create macro value_of(k, log) as (k % {PRODUCERS})::bigint << {VALUE_BITS} | (k // {PRODUCERS} * {LOGS} + log);
create macro member(log) as {FIRST_MEMBER} + log % {MEMBERS};
create macro txn_of(b, log, attempt) as (1::bigint << 42) + (b * 2 + attempt) * {LOGS} + log;
create macro aborted(b) as b % 20 = 7;
create table plant as
  select kind, log, number * 10 * {BATCH} + 3 as k
  from (select unnest({list(KINDS)!r}) as kind, unnest(range({len(KINDS)})) as number)
    cross join range($planted) r(log);
create table batch as
  select b, log, attempt, aborted(b) and attempt = 0 as fails,
    polled_at(b, log) + 2000000 + attempt * 5000000 as began
  from range($of_log // {BATCH}) r(b) cross join range({LOGS}) l(log) cross join range(2) a(attempt)
  where attempt = 1 or aborted(b);
create table copy as
  select log, k, attempt, fails, began, txn_of(b, log, attempt) as transaction,
    b * {2 * BATCH + 4} + attempt * {BATCH + 1} + i as "offset",
    member(log)::bigint << {VALUE_BITS} | ((k * 3 + attempt) * {LOGS} + log) as value
  from (select *, b * {BATCH} + i as k from batch cross join range({BATCH}) r(i))
    anti join (from plant where kind = 'lost-copy') using (log, k)
  union all
  select log, k, 2, false, began, txn_of(b, log, 1), b * {2 * BATCH + 4} + {2 * BATCH + 2},
    member(log)::bigint << {VALUE_BITS} | ((k * 3 + 2) * {LOGS} + log)
  from plant join batch using (log) where kind = 'duplicate-copy' and b = k // {BATCH} and attempt = 1;
"""

RECORDS_OF = f"""
select * from (
select 'send' as f, value_of(k, log) as op, k % {PRODUCERS} as process, k as index, 'ok' as type,
  sent_at(k, log) as invoked, invoked + 400000 + hash(k) % 500000 as completed, k as "offset", op as value,
  0 as assignment, false as final, null as committed, null as generation, null as source, null as transaction
from range($of_log) r(k), (select $partition as log) where $topic = '{SOURCE}'
union all
select 'poll', (2::bigint << 42) + k // {BATCH} * {LOGS} + log, member(log), k, 'ok', polled_at(k // {BATCH}, log),
  polled_at(k // {BATCH}, log) + 1000000, k, value_of(k, log), 1, false, true, 1, null, null
from range($of_log) r(k), (select $partition as log) where $topic = '{SOURCE}'
union all
select 'poll', (3::bigint << 42) + k // 500 * {LOGS} + log, {FIRST_READER} + log, k, 'ok',
  (1::bigint << 50) + k // 500 * 3000000, (1::bigint << 50) + k // 500 * 3000000 + 2000000, k, value_of(k, log), 1,
  true, true, null, null, null
from range($of_log) r(k), (select $partition as log) where $topic = '{SOURCE}'
union all
select 'send', value, member(log), "offset", if(fails, 'fail', 'ok'), began, began + 3000000, "offset", value, 0,
  false, null, null, value_of(k, log), transaction
from copy where log = $partition and $topic = '{OUTPUT}'
union all
select 'poll', (4::bigint << 42) + "offset" // 500 * {LOGS} + log, {FIRST_READER + LOGS} + log, "offset", 'ok',
  (1::bigint << 50) + "offset" // 500 * 3000000, (1::bigint << 50) + "offset" // 500 * 3000000 + 2000000, "offset",
  value, 1, true, true, null, value_of(k, log), null
from copy where log = $partition and $topic = '{OUTPUT}' and not fails
) order by process, f, assignment, index
"""

OPERATIONS_OF = f"""
select *, 'ok' as type from (
select 'txn' as f, txn_of(b, log, attempt) as op, member(log) as process, began - 500000 as invoked,
  began + 3000000 as completed, null as topic, null as partition, null as start_offset, null as end_offset,
  null as "group", null as generation,
  format('{{{{"transactional_id": "copier-{{}}", "producer_id": {{}}, "epoch": 0, "outcome": "{{}}", '
    || '"ending": {{}}}}}}', member(log), member(log), if(fails, 'abort', 'commit'), began + 2000000) as value
from batch
union all
select 'commit', (6::bigint << 42) + b * {LOGS} + log, member(log), began + 1000000, began + 3000000, '{SOURCE}', log,
  null, (b + 1) * {BATCH}, '{GROUP}', 1, format('{{{{"transaction": {{}}}}}}', txn_of(b, log, 1))
from batch where attempt = 1
union all
select 'member', (7::bigint << 42) + log, member(log), 1000, 2000, '{SOURCE}', log, 0, null, '{GROUP}', 1,
  '{{"event": "assigned", "auto_offset_reset": "earliest"}}'
from range({LOGS}) r(log)
union all
select 'final-read', (8::bigint << 42) + log + {LOGS} * output, {FIRST_READER} + log + {LOGS} * output,
  (1::bigint << 50) - 1, 1::bigint << 60, if(output = 1, '{OUTPUT}', '{SOURCE}'), log, 0,
  if(output = 1, $of_log // {BATCH} * {2 * BATCH + 4}, $of_log), null, null, '{{"committed": true}}'
from range({LOGS}) r(log) cross join range(2) o(output)
)
"""

OBSERVATIONS_OF = "select null::bigint as time where false"


def make_copies(records: int, planted: int, run: Path) -> dict[str, int]:
    """Write a history as compaction leaves it, and return the numbers of its anomalies. Needs the package duckdb."""
    shape = CopyShape(records=records, planted=planted)
    assert planted <= LOGS, shape
    assert not planted or shape.of_log > 20 * BATCH, f"{shape}: too few records"
    made = MadeHistory(
        topic=SOURCE,
        logs=[(topic, log) for topic in (SOURCE, OUTPUT) for log in range(LOGS)],
        tables=TABLES,
        records=RECORDS_OF,
        operations=OPERATIONS_OF,
        observations=OBSERVATIONS_OF,
        parameters={"of_log": shape.of_log, "planted": planted},
    )
    write_made(made, run)
    return shape.expected()
