"""Synthetic histories of administrators who change topics and inspect them, with a known number of anomalies.

16 administrators have 4 topics each and change one of them every 0.1 s: they create, enlarge, configure and delete
it in turn. After 8 changes they ask three brokers for all of their topics. A change in a thousand is refused, and so
has no effect. DuckDB makes the rows.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from benchmarks.made_history import MadeHistory, write_made

ADMINISTRATORS, TOPICS, BROKERS = 16, 4, 3
"""Topics are of an administrator."""
CHANGES = 8
"""Of an administrator between two inspections: two of each topic."""
CYCLE = 2
"""Rounds of `CHANGES` in which a topic is created, enlarged, configured and deleted."""
ROUND, CHANGE = 1_000_000_000, 100_000_000
"""ns of a round, and between two changes."""
ROWS = ADMINISTRATORS * (CHANGES + TOPICS * BROKERS)
"""Of a round."""
KIND = "forgotten-change"


@dataclass(frozen=True, kw_only=True)
class AdministeredShape:
    """records: the number of operations. planted: the number of inspections with an anomaly."""

    records: int
    planted: int = 0

    @property
    def rounds(self) -> int:
        return max(10 * CYCLE, self.records // ROWS)

    def expected(self) -> dict[str, int]:
        """Anomaly to number."""
        return {KIND: self.planted} if self.planted else {}


# change: the one of number `step` of a topic; wanted and retention: what is in effect after it, null without a topic.
TABLES = f"""
create table change as
  select administrator, topic, step // 2 as round, step, administrator * {TOPICS} + topic as number,
    {ROUND}::bigint * (step // 2 + 1) + (topic * 2 + step % 2) * {CHANGE} as invoked,
    step % 4 as phase, (hash(administrator, topic, step) % 1000 = 0 and phase in (1, 2)) as is_refused,
    ['create', 'partitions', 'config', 'delete'][phase + 1] as change,
    case phase when 0 then 2 when 1 then 3 end as partitions,
    case phase when 0 then 3600000 + step when 2 then 7200000 + step end as retention
  from range({ADMINISTRATORS}) a(administrator) cross join range({TOPICS}) t(topic)
    cross join range($rounds * 2) s(step);
create table known as
  select administrator, topic, number, round, phase <> 3 as there,
    last_value(if(is_refused, null, partitions) ignore nulls) over line as partitions,
    last_value(if(is_refused, null, retention) ignore nulls) over line as retention, step
  from change window line as (partition by number order by step);
"""

OPERATIONS_OF = f"""
select 'alter' as f, if(is_refused, 'fail', 'ok') as type, (step::bigint << 10) + number as op,
  administrator as process, invoked, invoked + 20000000 as completed, 'side-' || number as topic,
  null as partition,
  case change when 'create' then json_object('change', change, 'partitions', partitions, 'retention_ms', retention)
    when 'partitions' then json_object('change', change, 'partitions', partitions)
    when 'config' then json_object('change', change, 'retention_ms', retention)
    else json_object('change', change) end::text as value
from change
union all
select 'inspect', 'ok', (1::bigint << 50) + ((round::bigint << 10) + number) * {BROKERS} + node, administrator,
  {ROUND}::bigint * (round + 1) + {CHANGES} * {CHANGE},
  {ROUND}::bigint * (round + 1) + {CHANGES} * {CHANGE} + 30000000 + node,
  'side-' || number, null,
  if(there, json_object('node', node, 'exists', true,
      'partitions', partitions - (round = 4 and node = 0 and topic = 0 and administrator < $planted)::int,
      'retention_ms', retention),
    json_object('node', node, 'exists', false))::text
from known cross join range({BROKERS}) n(node) where step % 2 = 1
"""

OBSERVATIONS_OF = "select 1 as time, 'unanswered' as kind, null as topic, null as partition limit 0"


def make_administered(records: int, planted: int, run: Path) -> dict[str, int]:
    """Write a history as compaction leaves it, and return the numbers of its anomalies. Needs the package duckdb."""
    shape = AdministeredShape(records=records, planted=planted)
    assert planted <= ADMINISTRATORS, shape
    made = MadeHistory(
        topic="",
        logs=[],
        tables=TABLES,
        records="",
        operations=OPERATIONS_OF,
        observations=OBSERVATIONS_OF,
        parameters={"rounds": shape.rounds, "planted": planted},
    )
    write_made(made, run)
    return shape.expected()
