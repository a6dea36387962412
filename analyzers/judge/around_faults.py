"""What clients did before, during and after each fault, and when replicas were missing from the ISR of some
partition: what happened before a fault shows nothing about it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from pyspark.sql import Row

from analyzers.facts.fact import ACKED
from analyzers.history.load import History
from workloads.history.schema import NEMESIS

COMMITTED = "coalesce(get_json_object(value, '$.outcome') = 'commit', false)"
"""Of an operation that is a transaction."""


@dataclass(frozen=True, kw_only=True)
class AroundFault:
    """Numbers for one fault event."""

    before: int = 0
    during: int = 0
    after: int = 0
    """Acknowledged sends."""
    copies: int = 0
    """Those of copies, after the fault; as are all that follow."""
    acknowledgements: int = 0
    """Confirmed, of records of share groups."""
    reads: int = 0
    """Completed, of sessions."""
    transactions: int = 0
    """Committed."""
    groups: frozenset[str] = frozenset()
    """Those of which a commit was acknowledged."""


NOTHING_AROUND = AroundFault()

MANY_EVENTS = 3
"""Fault events of a run up to which each operation is compared with all of them. With more, operations are counted by
tenth of a second first, so that the time does not grow with events times operations."""

TENTH = 100_000_000
"""ns. With shorter times there are more of them to compare with each event. With longer ones, more operations begin
or end in one in which a fault does, too."""


def around_faults(history: History, *, events: int) -> dict[str, dict[str, AroundFault]]:
    """By run and event; without events around which nothing happened. events: the most that any of the runs has."""
    found: dict[str, dict[str, AroundFault]] = {}
    for row in history.rows(_BY_TENTH if events > MANY_EVENTS else _ONE_BY_ONE):
        counts = {
            name: count for name, count in row.asDict().items() if name not in ("run", "event", "groups")
        }
        found.setdefault(row.run, {})[row.event] = AroundFault(**counts, groups=frozenset(row.groups))
    return found


_DONE = f"""
    with stages as (
        select run, get_json_object(value, '$.event') as event, get_json_object(value, '$.stage') as stage,
            invoked, completed
        from {{operations}} where process = {NEMESIS}
    ), windows as (
        select run, event, min(invoked) filter (where stage = 'inject') as opening,
            min(completed) filter (where stage = 'inject') as opened,
            min(invoked) filter (where stage = 'heal') as closing,
            min(completed) filter (where stage = 'heal') as closed
        from stages group by run, event
    ), done as (
        select run, f, invoked, completed, source is not null as is_copy, null as `group`, 1L as n
        from {{records}} where {ACKED} union all
        select run, f, invoked, completed, false, `group`, 1L from {{operations}}
        where type = 'ok' and (f in ('read', 'commit', 'acknowledgement') or f = 'txn' and {COMMITTED})
    )
"""

_COUNTED = f"""
    , borders as (
        select distinct run, at div {TENTH} as tenth
        from (select run, explode(array(opening, opened, closing, closed)) as at from windows)
    ), counted as (
        select /*+ BROADCAST(begun), BROADCAST(ended) */ done.run, f, is_copy, `group`,
            if(begun.tenth is null, invoked div {TENTH} * {TENTH}, invoked) as invoked,
            if(ended.tenth is null, completed div {TENTH} * {TENTH}, completed) as completed, count(*) as n
        from done left join borders as begun on done.run = begun.run and invoked div {TENTH} = begun.tenth
            left join borders as ended on done.run = ended.run and completed div {TENTH} = ended.tenth
        group by all
    )
"""
"""Where no stage of a fault began or ended in a tenth of a second, it tells on which side of each stage an operation
began or ended."""

_AROUND = """
    select /*+ BROADCAST(windows) */ run, event, sum(if(f = 'send' and completed < opening, n, 0)) as before,
        sum(if(f = 'send' and invoked >= opened and completed <= coalesce(closing, completed), n, 0)) as during,
        sum(if(f = 'send' and completed > closed, n, 0)) as after,
        sum(if(is_copy and completed > closed, n, 0)) as copies,
        sum(if(f = 'read' and completed > closed, n, 0)) as reads,
        sum(if(f = 'acknowledgement' and completed > closed, n, 0)) as acknowledgements,
        sum(if(f = 'txn' and completed > closed, n, 0)) as transactions,
        collect_set(if(f = 'commit' and completed > closed, `group`, null)) as groups
    from :rows join windows using (run)
    group by run, event
"""

_ONE_BY_ONE = _DONE + _AROUND.replace(":rows", "done")
_BY_TENTH = _DONE + _COUNTED + _AROUND.replace(":rows", "counted")


Gap = tuple[int, int | None]
"""Begin and end in ns; the end is None if no sample shows it."""


@dataclass(frozen=True, kw_only=True)
class Replication:
    """Of one run. `until` is the time (ns) up to which every partition was sampled."""

    gaps: tuple[Gap, ...]
    until: int

    def whole_since(self, time: int) -> int | None:
        """The first time from then on (ns) without a gap; None if no sample shows it."""
        for begin, end in sorted(self.gaps):
            if begin <= time and (end is None or time < end):
                if end is None:
                    return None
                time = end
        return time if time <= self.until else None


def replication(history: History) -> dict[str, Replication]:
    """By run id, for every run with samples of partitions. Takes one Spark job."""
    of_logs: dict[str, dict[tuple[str, int], list[Row]]] = {}
    for row in history.rows(_CHANGES):
        of_logs.setdefault(row.run, {}).setdefault((row.topic, row.partition), []).append(row)
    return {
        run: Replication(
            gaps=tuple(gap for rows in logs.values() for gap in gaps_of(rows)),
            until=min(rows[0].until for rows in logs.values()),
        )
        for run, logs in of_logs.items()
    }


def gaps_of(changes: Sequence[Row]) -> Iterable[Gap]:
    """changes: of one log, from complete to incomplete and back, in any order."""
    begin: int | None = None
    for change in sorted(changes, key=lambda row: (row.leader_epoch, row.time)):
        if change.is_short and begin is None:
            begin = change.time
        elif not change.is_short and begin is not None:
            yield begin, max(begin, change.time)
            begin = None
    if begin is not None:
        yield begin, None


_CHANGES = """
    with seen as (
        select run, topic, partition, time, leader_epoch,
            leader < 0 or size(isr) < max(size(isr)) over (partition by run, topic, partition) as is_short,
            max(time) over (partition by run, topic, partition) as until
        from {observations} where kind = 'partition' and isr is not null and (leader = node or leader < 0)
    ), beside as (
        select *, lag(is_short) over (partition by run, topic, partition order by leader_epoch, time) as before
        from seen
    )
    select run, topic, partition, time, leader_epoch, is_short, until from beside
    where before is distinct from is_short
"""
"""Of each log the samples that differ from the one before them. A leader's own view counts, because the others learn
of an ISR later. Views are in the order of epochs, so that a leader that was replaced says nothing about later times.
All replicas are in sync where the ISR is as large as at any time of the run."""
