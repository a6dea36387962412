"""Synthetic histories of applications between an input and an output topic, with a known number of anomalies.

Half of the records are sends, the rest are polled by final readers. A third of the inputs is of an application that
promises exactly-once, a third of one that keeps the order of each key, and a third of one that makes an aggregate of
each key. Of the first two, each input has one output; the second one repeats one in 1000. A key has 100 inputs. The
position and the owner of each log are observed once a second, of 10,000 inputs. DuckDB makes the rows.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from benchmarks.made_history import MadeHistory, write_made
from workloads.history.schema import VALUE_BITS

SINKS = {"orders": "receipts", "events": "reports", "visits": "totals"}
"""By the topic with the inputs."""
GUARANTEES = {"orders": "exactly-once", "events": "order-per-key", "visits": "aggregate"}
LOGS, PRODUCERS = 8, 8
"""Of each topic."""
OF_KEY, BETWEEN = 100, 20
"""Inputs of a key, and the distance between two of them."""
SPACING = 100_000
"""ns from one send to the next."""
SECOND = 1_000_000_000
FIRST_READER, AUDITOR = 100, 300
KINDS = (
    "missing-output", "unprocessed-input", "duplicate-output", "reordered-output", "invented-output",
    "wrong-aggregate",
)  # fmt: skip


@dataclass(frozen=True, kw_only=True)
class PipelineShape:
    """planted: the number of each anomaly, at most `LOGS`."""

    records: int
    planted: int = 0

    @property
    def of_log(self) -> int:
        """Inputs of each log, in whole groups of keys that take turns."""
        step = OF_KEY * BETWEEN
        return max(1, self.records // (2 * len(SINKS) * LOGS * step)) * step

    def expected(self) -> dict[str, int]:
        """Anomaly to number."""
        return dict.fromkeys(sorted(KINDS), self.planted) if self.planted else {}


# Of input k of a log: its key, when it was sent and when the application wrote (ns). Outputs have even offsets, those
# of plants odd ones. A plant of each kind lies at an input of its own, unprocessed ones at the ends of their logs.
TABLES = f"""
create macro sent_at(k, log, nth) as 1000000 + ((k * {LOGS} + log) * {len(SINKS)} + nth) * {SPACING};
create macro written_at(k, log, nth) as sent_at(k, log, nth) + 20000000 + hash(k) % 5000000;
create macro key_of(k, log) as (k // {OF_KEY * BETWEEN} * {BETWEEN} + k % {BETWEEN}) * {LOGS} + log;
create macro value_of(k, log, nth) as
  (nth * {PRODUCERS} + k % {PRODUCERS})::bigint << {VALUE_BITS} | (k // {PRODUCERS} * {LOGS} + log);
create table app as
  select nth, topic, sink, guarantee
  from (select unnest({list(SINKS)!r}) as topic, unnest({list(SINKS.values())!r}) as sink,
    unnest({list(GUARANTEES.values())!r}) as guarantee, unnest(range({len(SINKS)})) as nth);
create table plant as
  select kind, log, if(kind = 'unprocessed-input', $of_log - 1, number * 101) as k,
    if(kind = 'reordered-output', 'events', 'orders') as topic
  from (select unnest({list(KINDS)!r}) as kind, unnest(range({len(KINDS)})) + 1 as number)
    cross join range($planted) r(log);
create table output as
  select topic, sink, log, k, value_of(k, log, nth) as source,
    if(kind = 'reordered-output', 2 * (k + {BETWEEN} + 2) + 1, 2 * k) as "at",
    written_at(if(kind = 'reordered-output', k + {BETWEEN} + 2, k), log, nth) as written
  from app cross join range($of_log) r(k) cross join range({LOGS}) l(log) left join plant using (topic, log, k)
  where guarantee <> 'aggregate' and coalesce(kind, '') not in ('missing-output', 'unprocessed-input')
  union all
  select topic, sink, log, k, value_of(k, log, nth), 2 * (k + 3) + 1, written_at(k + 3, log, nth)
  from app cross join range($of_log) r(k) cross join range({LOGS}) l(log)
  where guarantee = 'order-per-key' and k % 1000 = 500
  union all
  select topic, sink, log, k, if(kind = 'duplicate-output', value_of(k, log, nth), null), 2 * (k + 3) + 1,
    written_at(k + 3, log, nth)
  from plant join app using (topic) where kind in ('duplicate-output', 'invented-output');
"""

RECORDS_OF = f"""
select f, op, process, k as index, 'ok' as type, invoked, completed, k as "offset", value, assignment, final,
  key_of(k, log) as key, if(final, false, null) as committed
from (
  select 'send' as f, k, $partition as log, value_of(k, log, nth) as value, value as op,
    nth * {PRODUCERS} + k % {PRODUCERS} as process, sent_at(k, log, nth) as invoked,
    invoked + 400000 + hash(k) % 500000 as completed, 0 as assignment, false as final
  from app cross join range($of_log) r(k) where topic = $topic
  union all
  select 'poll', k, $partition as log, value_of(k, log, nth),
    (2::bigint << 42) + (k // 500 * {LOGS} + log) * {len(SINKS)} + nth, {FIRST_READER} + nth * {LOGS} + log,
    (1::bigint << 50) + k // 500 * 3000000, (1::bigint << 50) + k // 500 * 3000000 + 2000000, 1, true
  from app cross join range($of_log) r(k) where topic = $topic)
order by process, f, assignment, index
"""

OPERATIONS_OF = f"""
select *, row_number() over () + (3::bigint << 42) as op, 'ok' as type from (
select 'output' as f, {AUDITOR} as process, (1::bigint << 49) + "at" // 500 as invoked,
  (1::bigint << 49) + "at" // 500 + 1000 as completed, sink as topic, log as partition, "at" as start_offset,
  null as end_offset, null as "group",
  format('{{{{"source": {{}}, "written": {{}}}}}}', coalesce(source::text, 'null'), written) as value
from output
union all
select 'pipeline', {AUDITOR}, 1::bigint << 49, (1::bigint << 49) + 1000, topic, log, null,
  $of_log - if(kind is null, 0, 1), topic || '-app',
  format('{{{{"sink": "{{}}", "guarantee": "{{}}"}}}}', sink, guarantee)
from app cross join range({LOGS}) r(log) left join (from plant where kind = 'unprocessed-input') p using (topic, log)
union all
select 'aggregate', {AUDITOR}, 1::bigint << 49, (1::bigint << 49) + 1000, topic, log, null, null, null,
  format('{{{{"sink": "{{}}", "of_key": "{{}}", "inputs": {OF_KEY}, "outputs": {OF_KEY}, "wrong": {{}}, "fed": {{}}, '
    || '"last": "{{}} at {{}}", "written": {{}}}}}}', sink, key_of(k, log),
    if(p.kind is null, 'null', '"a sum that lacks an input"'), sent_at(k, log, nth), log, k,
    written_at(k, log, nth))
from app cross join range($of_log) r(k) cross join range({LOGS}) l(log)
  left join (select kind, log, {BETWEEN - 1} as k from plant where kind = 'wrong-aggregate') p using (log, k)
where guarantee = 'aggregate' and k % {OF_KEY * BETWEEN} < {BETWEEN}
union all
select 'final-read', {FIRST_READER} + nth * {LOGS} + log, (1::bigint << 50) - 1, 1::bigint << 60, topic, log, 0,
  $of_log, null, null
from app cross join range({LOGS}) r(log)
)
"""

OBSERVATIONS_OF = f"""
select 'group' as kind, 0 as node, {AUDITOR} as process, written_at(k, log, nth) as time, time - 1000000 as asked,
  topic, log as partition,
  format('{{{{"group": "{{}}-app", "member": "member-{{}}", "owner": "app:{{}}", "position": {{}}}}}}',
    topic, log % 2, log % 2, k) as value
from app cross join range({LOGS}) l(log)
  cross join range(0, $of_log, {SECOND // (SPACING * LOGS * len(SINKS))}) r(k)
"""


def make_pipelines(records: int, planted: int, run: Path) -> dict[str, int]:
    """Write a history as compaction leaves it, and return the numbers of its anomalies. Needs the package duckdb."""
    shape = PipelineShape(records=records, planted=planted)
    assert planted <= LOGS, shape
    made = MadeHistory(
        topic="orders",
        logs=[(topic, log) for topic in SINKS for log in range(LOGS)],
        tables=TABLES,
        records=RECORDS_OF,
        operations=OPERATIONS_OF,
        observations=OBSERVATIONS_OF,
        parameters={"of_log": shape.of_log, "planted": planted},
    )
    write_made(made, run)
    return shape.expected()
