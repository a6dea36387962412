"""Synthetic histories of what coordinators report, with a known number of anomalies.

Coordinators describe 20 groups and 20 transactional ids every 0.2 s. A group has 3 members and 6 partitions, and
every minute one of its members is replaced. One half of the groups is of the classic protocol, the other one of
KIP-848. A transaction takes 2 s; one of ten is aborted. DuckDB makes the rows.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from benchmarks.made_history import MadeHistory, write_made
from workloads.history.schema import HARNESS

GROUPS, IDS, BROKERS, MEMBERS, LOGS_OF_MEMBER = 20, 20, 4, 3, 2
TERM = 300
"""Samples of a group between two changes of its members."""
STAGGER = 13
"""Samples by which the changes of a group come before those of the group before it."""
LENGTH = 10
"""Samples of a transaction."""
SAMPLE, ANSWER, BEGIN = 200_000_000, 3_000_000, 1_000_000_000
"""ns between two samples, until an answer arrives, and of the first sample."""
CLASSIC, KIP_848 = 0, 1
"""Remainders of groups by the number of protocols."""
PLANTS = {
    # anomaly: (protocol of its groups, term, sample of the term)
    "group-state-conflict": (KIP_848, 1, 50),
    "group-epoch-regression": (KIP_848, 1, 80),
    "position-regression": (KIP_848, 1, 120),
    "unexplained-rebalance": (CLASSIC, 1, 150),
}
OF_TRANSACTIONS = {
    # anomaly: (transaction of the id, sample of the transaction)
    "transaction-state-regression": (20, 0),
    "producer-epoch-regression": (30, 3),
}
EPOCHS = 30_000
"""Of a producer id. The epoch grows with each transaction (KIP-890)."""


@dataclass(frozen=True, kw_only=True)
class CoordinatedShape:
    """records: the number of samples. planted: the number of each anomaly."""

    records: int
    planted: int = 0

    @property
    def samples(self) -> int:
        return max(2 * TERM, self.records // (GROUPS + IDS))

    def expected(self) -> dict[str, int]:
        """Anomaly to number."""
        return dict.fromkeys(sorted([*PLANTS, *OF_TRANSACTIONS]), self.planted) if self.planted else {}


def _planted(plants: dict[str, tuple[int, ...]]) -> str:
    return ", ".join(f"('{kind}', {', '.join(map(str, place))})" for kind, place in plants.items())


_AT = f"({BEGIN} + r * {SAMPLE}::bigint + (hash(r, number) % 1000000)::bigint)"

# state: sample r of a group, its term e, and the sample q of the term; the same of a transactional id and its
# transactions.
TABLES = f"""
create table plant as
  select kind, n * 2 + protocol as number, e, q
  from (values {_planted(PLANTS)}) p(kind, protocol, e, q) cross join range($planted) n(n);
create table plant_of_id as
  select kind, n as number, e, q
  from (values {_planted(OF_TRANSACTIONS)}) p(kind, e, q) cross join range($planted) n(n);
create table of_group as
  select s.*, coalesce(p.kind, '') as anomaly, s.number % 2 = {CLASSIC} as is_classic,
    s.e + 1 - (anomaly = 'group-epoch-regression')::int
      + (b.e is not null and (s.e, s.q) >= (b.e, b.q))::int as epoch
  from (select number, r, (r + {STAGGER} * number) // {TERM} as e, (r + {STAGGER} * number) % {TERM} as q,
      {_AT} as asked from range($samples) t(r) cross join range({GROUPS}) g(number)) s
    left join plant p on p.number = s.number and p.e = s.e and p.q = s.q
    left join (from plant where kind = 'unexplained-rebalance') b on b.number = s.number;
create table of_id as
  select s.*, coalesce(kind, '') as anomaly, if(anomaly = 'transaction-state-regression', s.e - 1, s.e) as n
  from (select number, r, (r + 3 * number) // {LENGTH} as e, (r + 3 * number) % {LENGTH} as q,
      {_AT} as asked from range($samples) t(r) cross join range({IDS}) i(number)) s
    left join plant_of_id p on p.number = s.number and p.e = s.e and p.q = s.q;
"""

_LOGS_OF = ", ".join(f"'orders-' || (member * {LOGS_OF_MEMBER} + {log})" for log in range(LOGS_OF_MEMBER))
_MEMBERS = ", ".join(f"member(number, e, {member})" for member in range(MEMBERS))
_POSITIONS = ", ".join(
    f"'orders-{log}', r * 3 + {log}" + (" - if(anomaly = 'position-regression', 30, 0)" if log == 0 else "")
    for log in range(MEMBERS * LOGS_OF_MEMBER)
)

TABLES += f"""
create macro member(number, e, member) as json_object('member-' || number || '-' || (e + member), [{_LOGS_OF}]);
"""

OBSERVATIONS_OF = f"""
select 'group_state' as kind, asked, asked + {ANSWER} as time, number % {BROKERS} as node, r // 3000 as connection,
  json_object(
    'group', 'group-' || number, 'type', if(is_classic, 'classic', 'consumer'),
    'state', case when anomaly = 'group-state-conflict' then 'Empty' when q > 2 then 'Stable'
      when is_classic then 'PreparingRebalance' when q = 0 then 'Assigning' else 'Reconciling' end,
    'protocol', if(is_classic, 'range', 'uniform'),
    'epoch', if(is_classic and q <= 2, null, epoch),
    'assigned_epoch', if(is_classic, null, if(q = 0, epoch - 1, epoch)),
    'members', json_merge_patch({_MEMBERS}),
    'positions', json_object({_POSITIONS}))::text as value
from of_group
union all
select 'transaction', asked, asked + {ANSWER}, number % {BROKERS}, r // 3000,
  json_object(
    'transactional_id', 'id-' || number,
    'state', case when anomaly = 'transaction-state-regression' or q <= 6 then 'Ongoing'
      else if(q = 7, 'Prepare', 'Complete') || if(n % 10 = 9, 'Abort', 'Commit') end,
    'producer_id', 1000 + number + 1000 * (n // {EPOCHS}),
    'epoch', n % {EPOCHS} - (anomaly = 'producer-epoch-regression')::int,
    'started', 1700000000000 + n * {LENGTH} * {SAMPLE // 1_000_000} + number,
    'partitions', if(q <= 7, ['orders-' || (n % 6), 'payments-' || (n % 6)], []))::text
from of_id
order by time
"""

OPERATIONS_OF = f"""
select 'phase' as f, 'ok' as type, 1 as op, {HARNESS} as process, 1 as invoked, 2 as completed,
  '{{"phase": "steady"}}' as value, null as topic, null as partition
"""


def make_coordinated(records: int, planted: int, run: Path) -> dict[str, int]:
    """Write a history as compaction leaves it, and return the numbers of its anomalies. Needs the package duckdb."""
    shape = CoordinatedShape(records=records, planted=planted)
    assert planted <= GROUPS // 2, shape
    made = MadeHistory(
        topic="",
        logs=[],
        tables=TABLES,
        records="",
        operations=OPERATIONS_OF,
        observations=OBSERVATIONS_OF,
        parameters={"samples": shape.samples, "planted": planted},
        constants={"process": HARNESS},
    )
    write_made(made, run)
    return shape.expected()
