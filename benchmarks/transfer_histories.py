"""Synthetic histories of transfers between accounts and of snapshots of these, with a known number of anomalies.

A quarter of the records are sends in transactions of two transfers, half are polled by two processes that take
snapshots, the rest by final readers, all with read_committed. An account is a log. One transaction in 10 is aborted.
A snapshot is taken every 1,000 transactions; its ends differ from log to log by a few transactions. DuckDB makes the
rows.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from benchmarks.made_history import MadeHistory, write_made
from workloads.history.schema import VALUE_BITS

TOPIC = "accounts"
LOGS, PRODUCERS, READERS = 8, 8, 2
SENDS = 4
"""Of a transaction: the debit and the credit of each of two transfers."""
EVERY = 1_000
"""Transactions from one snapshot to the next."""
SPACING = 500_000
"""ns from one transaction to the next."""
FIRST_READER, FIRST_FINAL = 200, 100
KIND = "wrong-total"


@dataclass(frozen=True, kw_only=True)
class TransferShape:
    """planted: the number of snapshots with a wrong total."""

    records: int
    planted: int = 0

    @property
    def transactions(self) -> int:
        """Those of whole snapshots."""
        return max(1, self.records // (SENDS * (2 + READERS) * EVERY)) * EVERY

    def expected(self) -> dict[str, int]:
        """Anomaly to number."""
        return {KIND: self.planted} if self.planted else {}


# Of transaction t: when it begins (ns) and whether it is committed. A snapshot has the transactions below its end in
# the log; it is complete before the next one begins. A planted record is returned to the first reader only by the
# next snapshot.
TABLES = f"""
create macro begins(t) as 1000000 + t * {SPACING};
create macro good(t) as t % 10 <> 9;
create macro taken_at(number) as begins((number + 1) * {EVERY}) + 50000000;
create macro end_of(number, log, last) as if(number = last, (number + 1) * {EVERY}, (number + 1) * {EVERY} - 3 * log);
create macro snapshot_of(t, log, last) as least((t + 3 * log) // {EVERY}, last);
create table record as
  select t, i, (t * 3 + (i // 2) * 2 + if(i % 2 = 1, 1 + t % 7, 0)) % {LOGS} as log, t * 8 + i as "offset",
    (t % {PRODUCERS})::bigint << {VALUE_BITS} | (t // {PRODUCERS} * {SENDS} + i) as value,
    if(i % 2 = 1, 1, -1) * (1 + (hash(t * 2 + i // 2) % 1000)::bigint) as amount,
    snapshot_of(t, log, $transactions // {EVERY} - 1) as number
  from range($transactions) r(t) cross join range({SENDS}) s(i);
create table late as
  select t, i from record join range($planted) p(nth) on t = (2 * nth + 1) * {EVERY} - 500 and i = 0;
"""

RECORDS_OF = f"""
select 'send' as f, value as op, t % {PRODUCERS} as process, t * {SENDS} + i as index,
  if(good(t), 'ok', 'fail') as type, begins(t) + i * 1000 as invoked, begins(t) + 2000000 as completed,
  "offset", value, (1::bigint << 41) + t as transaction, amount, 0 as assignment, false as final, null as committed
from record where log = $partition
union all
select 'poll', (2::bigint << 42) + ((number + if(l.t is null, 0, 1)) * {LOGS} + log) * {READERS} + reader,
  {FIRST_READER} + reader, "offset" * 2 + if(l.t is null, 0, {16 * EVERY + 1}), 'ok',
  taken_at(number + if(l.t is null, 0, 1)), taken_at(number + if(l.t is null, 0, 1)) + 20000000 - {LOGS} + log,
  "offset", value, null, amount, 1, false, true
from record cross join range({READERS}) r(reader) left join late l on l.t = record.t and l.i = record.i and reader = 0
where log = $partition and good(record.t)
union all
select 'poll', (3::bigint << 42) + t // 500 * {LOGS} + log, {FIRST_FINAL} + log, "offset", 'ok',
  (1::bigint << 50) + t // 500 * 3000000, (1::bigint << 50) + t // 500 * 3000000 + 2000000, "offset", value, null,
  amount, 1, true, true
from record where log = $partition and good(t)
order by process, f, assignment, index
"""

OPERATIONS_OF = f"""
select *, 'ok' as type from (
select 'txn' as f, (1::bigint << 41) + t as op, t % {PRODUCERS} as process, begins(t) as invoked,
  begins(t) + 2000000 as completed, null as partition, null as start_offset, null as end_offset,
  format('{{{{"transactional_id": "id-{{}}", "producer_id": {{}}, "epoch": 0, "outcome": "{{}}", "ending": {{}}}}}}',
    t % {PRODUCERS}, t % {PRODUCERS}, if(good(t), 'commit', 'abort'), begins(t) + 1000000) as value
from range($transactions) r(t)
union all
select 'read', (4::bigint << 42) + (number * {LOGS} + log) * {READERS} + reader, {FIRST_READER} + reader,
  taken_at(number) - 1000000, taken_at(number) + 30000000, log,
  if(number = 0, 0, end_of(number - 1, log, $transactions // {EVERY} - 1) * 8),
  end_of(number, log, $transactions // {EVERY} - 1) * 8,
  format('{{{{"committed": true, "snapshot": {{}}}}}}', number)
from range($transactions // {EVERY}) r(number) cross join range({LOGS}) l(log) cross join range({READERS}) p(reader)
union all
select 'final-read', (5::bigint << 42) + log, {FIRST_FINAL} + log, (1::bigint << 50) - 1, 1::bigint << 60, log, 0,
  $transactions * 8, '{{"committed": true}}'
from range({LOGS}) r(log)
)
"""

OBSERVATIONS_OF = "select null::bigint as time where false"


def make_transfers(records: int, planted: int, run: Path) -> dict[str, int]:
    """Write a history as compaction leaves it, and return the numbers of its anomalies. Needs the package duckdb."""
    shape = TransferShape(records=records, planted=planted)
    assert shape.transactions > 2 * planted * EVERY, f"{shape}: too few records"
    made = MadeHistory(
        topic=TOPIC,
        logs=[(TOPIC, log) for log in range(LOGS)],
        tables=TABLES,
        records=RECORDS_OF,
        operations=OPERATIONS_OF,
        observations=OBSERVATIONS_OF,
        parameters={"transactions": shape.transactions, "planted": planted},
    )
    write_made(made, run)
    return shape.expected()
