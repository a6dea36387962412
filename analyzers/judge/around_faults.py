"""What clients did before, during and after each fault: what happened before it shows nothing about it."""

from __future__ import annotations

from dataclasses import dataclass

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
