"""Synthetic histories of transactions and of a group that reads them, with a known number of anomalies.

A third of the records are sends in transactions of ten records, a third are polled by the members of a group, the
rest by final readers, both with read_committed. One transaction in ten is aborted. Members poll and commit 50
transactions of a log at a time, and logs change over to other members after ten of these. DuckDB makes the rows.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from benchmarks.made_history import MadeHistory, write_made
from workloads.history.schema import VALUE_BITS

TOPIC, GROUP = "ledger", "auditors"
LOGS, PRODUCERS, MEMBERS = 8, 8, 4
SENDS = 10
"""Of a transaction. After them, its marker takes an offset."""
CHUNK = 50
"""Transactions of a log that a member polls and commits at a time."""
TENURE = 10
"""Chunks until another member is assigned the log."""
FIRST_MEMBER, FIRST_READER, STRANGER = 200, 100, 250
KINDS = (
    "torn-transaction", "precommitted-read", "zombie-write", "read-above-lso", "double-ownership", "group-skip",
    "commit-beyond-polls", "commit-regression", "unfenced-commit", "excess-duplicates",
)  # fmt: skip
OF_EACH_RECORD = {"precommitted-read", "zombie-write", "group-skip", "excess-duplicates"}
"""They are counted for each record of a transaction."""


@dataclass(frozen=True, kw_only=True)
class GroupedShape:
    """planted: the number of transactions, polls or commits with each anomaly, at most `LOGS`."""

    records: int
    planted: int = 0

    @property
    def transactions(self) -> int:
        """Whole tenures of all logs."""
        return max(1, self.records // (3 * SENDS * LOGS * CHUNK * TENURE)) * LOGS * CHUNK * TENURE

    def expected(self) -> dict[str, int]:
        """Anomaly to number."""
        if not self.planted:
            return {}
        return {kind: self.planted * (SENDS if kind in OF_EACH_RECORD else 1) for kind in sorted(KINDS)}


# Of transaction t: its log, its number k in the log, its chunk c and tenure g of the log, when it begins (ns), and
# whether it is committed. A plant of each kind lies in a tenure of its own, in its sixth chunk or at its beginning.
TABLES = f"""
create macro good(k, log) as (k * {LOGS} + log) % 10 != 9;
create macro base(k, log) as 1000000 + (k * {LOGS} + log) * 10000;
create macro owner(log, g) as {FIRST_MEMBER} + (log + g) % {MEMBERS};
create macro polled_at(c, log) as base(c * {CHUNK} + {CHUNK - 1}, log) + 8000;
create macro behind(k) as k * {SENDS + 1};
create table txn as
  select t, t % {LOGS} as log, t // {LOGS} as k, t // {LOGS} // {CHUNK} as c, t // {LOGS} // {CHUNK * TENURE} as g,
    t % {PRODUCERS} as producer, base(k, log) as begins, good(k, log) as good
  from range($transactions) r(t);
create table plant as
  select kind, log, g, g * {TENURE} + 5 as c, g * {CHUNK * TENURE} as start,
    c * {CHUNK} + if(good(c * {CHUNK} + 7, log), 7, 8) as k,
    start + if(good(start, log), 0, 1) as skipped, start - if(good(start - 1, log), 1, 2) as again
  from (select unnest({list(KINDS)!r}) as kind, unnest(range({len(KINDS)})) + 1 as g)
    cross join range($planted) r(log);
create table sent as
  select txn.*, i, k * {SENDS + 1} + i as "offset",
    producer::bigint << {VALUE_BITS} | (t // {PRODUCERS} * {SENDS} + i) as value
  from txn cross join range({SENDS}) r(i);
create table tenure as
  select log, g, owner(log, g) as member, g * {CHUNK * TENURE} as start,
    if(g = 0, 1000, polled_at(g * {TENURE} - 1, log) + 4000) as moment,
    coalesce((select behind(again) from plant p where p.kind = 'excess-duplicates' and p.log = t.log and p.g = t.g),
      (select behind(skipped + 1) from plant p where p.kind = 'group-skip' and p.log = t.log and p.g = t.g),
      behind(start)) as position
  from (select distinct log, g from txn) t;
create table chunk as select distinct log, c, g, owner(log, g) as member, polled_at(c, log) as moment,
    behind((c + 1) * {CHUNK}) as "end" from txn;
"""

RECORDS_OF = f"""
select 'send' as f, t + (1::bigint << 40) as op, producer as process, i + k * {SENDS} as index,
  if(good, 'ok', 'fail') as type, begins + i * 100 as invoked, invoked + 50 as completed, "offset", value,
  t + (1::bigint << 41) as transaction, 0 as assignment, false as final, null as committed, null as generation
from sent where log = $partition
union all
select 'poll', (2::bigint << 42) + c * {LOGS} + log, owner(log, g), "offset", 'ok', polled_at(c, log),
  polled_at(c, log) + 1000, "offset", value, null, g + 1, false, true, g + 1
from sent s where log = $partition and good and not exists (
  from plant p where p.kind = 'group-skip' and p.log = s.log and s.k between p.start and p.skipped)
union all
select 'poll', (2::bigint << 42) + p.start // {CHUNK} * {LOGS} + log, owner(log, p.g), "offset", 'ok',
  polled_at(p.start // {CHUNK}, log), polled_at(p.start // {CHUNK}, log) + 1000, "offset", value, null, p.g + 1,
  false, true, p.g + 1
from sent s join plant p using (log) where log = $partition and p.kind = 'excess-duplicates' and s.k = p.again
union all
select 'poll', (3::bigint << 42) + c * {LOGS} + log, {FIRST_READER} + log, "offset", 'ok',
  (1::bigint << 50) + c * 3000000,
  (1::bigint << 50) + c * 3000000 + 2000000, "offset", value, null, 1, true, true, null
from sent s where log = $partition and good and not exists (
  from plant p where p.kind = 'torn-transaction' and p.log = s.log and p.k = s.k and s.i = 3)
order by process, f, assignment, index
"""

OPERATIONS_OF = f"""
select *, 'ok' as type from (
select 'txn' as f, t + (1::bigint << 41) as op, producer as process, begins as invoked, begins + 6000 as completed,
  null as partition, null as start_offset, null as end_offset, null as "group", null as generation,
  format('{{{{"transactional_id": "{{}}", "producer_id": {{}}, "epoch": 0, "outcome": "{{}}", "ending": {{}}}}}}',
    if(z.k is null, 'id-' || producer, 'zombie-' || log), producer, if(good, 'commit', 'abort'),
    if(p.k is null, begins + 5000, polled_at(txn.c, log) + 100000)) as value
from txn left join (from plant where kind = 'precommitted-read') p using (log, k)
  left join (from plant where kind = 'zombie-write') z using (log, k)
union all
select 'init', (4::bigint << 42) + producer, producer, 1, 2, null, null, null, null, null,
  format('{{{{"transactional_id": "id-{{}}", "producer_id": {{}}, "epoch": 0}}}}', producer, producer)
from (select distinct producer from txn)
union all
select 'init', (5::bigint << 42) + p.log * 2 + later, if(later = 1, 300 + p.log, txn.producer),
  if(later = 1, begins - 200, 1), if(later = 1, begins - 100, 2), null, null, null, null, null,
  format('{{{{"transactional_id": "zombie-{{}}", "producer_id": {{}}, "epoch": {{}}}}}}', p.log, txn.producer, later)
from plant p join txn using (log, k) cross join range(2) r(later) where kind = 'zombie-write'
union all
select 'member', (6::bigint << 42) + g * {LOGS} + log, member, moment, moment + 1000, log, position, null,
  '{GROUP}', g + 1, '{{"event": "assigned", "auto_offset_reset": "earliest"}}'
from tenure
union all
select 'member', (7::bigint << 42) + g * {LOGS} + log, owner(log, g - 1), moment - 1000, moment - 500, log, null,
  null, '{GROUP}', g, '{{"event": "revoked"}}'
from tenure where g > 0
union all
select 'member', (8::bigint << 42) + log * 2 + ends, {STRANGER}, polled_at(c, log) + 100 + 200 * ends,
  polled_at(c, log) + 200 + 200 * ends, log, if(ends = 0, 0, null), null, '{GROUP}', g + 1,
  if(ends = 0, '{{"event": "assigned", "auto_offset_reset": "earliest"}}', '{{"event": "revoked"}}')
from plant cross join range(2) r(ends) where kind = 'double-ownership'
union all
select 'commit', (9::bigint << 42) + c * {LOGS} + log, member, moment + 1500, moment + 2000, log, null, "end",
  '{GROUP}', g + 1, '{{}}'
from chunk
union all
select 'commit', (10::bigint << 42) + g * {LOGS} + log,
  owner(log, if(kind = 'unfenced-commit', g - 1, g)), polled_at(c, log) + 2100, polled_at(c, log) + 2200, log, null,
  behind((c + 1) * {CHUNK}) +
    case kind when 'commit-beyond-polls' then behind(2) when 'commit-regression' then -20 else 0 end,
  '{GROUP}', if(kind = 'unfenced-commit', g, g + 1), '{{}}'
from plant where kind in ('commit-beyond-polls', 'commit-regression', 'unfenced-commit')
union all
select 'final-read', (11::bigint << 42) + log, {FIRST_READER} + log, (1::bigint << 50) - 1, 1::bigint << 60, log, 0,
  behind($transactions // {LOGS}), null, null, null
from range({LOGS}) r(log)
)
"""

OBSERVATIONS_OF = f"""
select asked, asked as time, log as partition, last_stable, "end" as high_watermark, "end" as log_end
from (
  select moment + 1100 as asked, log, "end" as last_stable, "end" from chunk
  union all
  select polled_at(c, p.log) + 1050, p.log, max("offset"), behind((p.c + 1) * {CHUNK})
  from plant p join sent using (log, c) where kind = 'read-above-lso' and good group by all
)
"""


def make_grouped(records: int, planted: int, run: Path) -> dict[str, int]:
    """Write a history as compaction leaves it, and return the numbers of its anomalies. Needs the package duckdb."""
    shape = GroupedShape(records=records, planted=planted)
    assert planted <= LOGS, shape
    assert not planted or shape.transactions > len(KINDS) * LOGS * CHUNK * TENURE, f"{shape}: too few records"
    sampled = {"process": -2, "node": 0, "kind": "partition", "leader": 0, "leader_epoch": 0, "isr": [0]}
    made = MadeHistory(
        topic=TOPIC,
        logs=[(TOPIC, log) for log in range(LOGS)],
        tables=TABLES,
        records=RECORDS_OF,
        operations=OPERATIONS_OF,
        observations=OBSERVATIONS_OF,
        parameters={"transactions": shape.transactions, "planted": planted},
        constants={**sampled, "log_start": 0},
    )
    write_made(made, run)
    return shape.expected()
