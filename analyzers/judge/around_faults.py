"""What clients did before, during and after each fault: what happened before it shows nothing about it."""

from __future__ import annotations

from dataclasses import dataclass

from analyzers.facts.columns import ACKED
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


def around_faults(history: History) -> dict[str, dict[str, AroundFault]]:
    """By run and event; without events around which nothing happened."""
    found: dict[str, dict[str, AroundFault]] = {}
    for row in history.rows(_AROUND):
        counts = {
            name: count for name, count in row.asDict().items() if name not in ("run", "event", "groups")
        }
        found.setdefault(row.run, {})[row.event] = AroundFault(**counts, groups=frozenset(row.groups))
    return found


_AROUND = f"""
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
    )
    select /*+ BROADCAST(windows) */ run, event, count_if(f = 'send' and completed < opening) as before,
        count_if(f = 'send' and invoked >= opened and completed <= coalesce(closing, completed)) as during,
        count_if(f = 'send' and completed > closed) as after,
        count_if(is_copy and completed > closed) as copies, count_if(f = 'read' and completed > closed) as reads,
        count_if(f = 'acknowledgement' and completed > closed) as acknowledgements,
        count_if(f = 'txn' and completed > closed) as transactions,
        collect_set(if(f = 'commit' and completed > closed, `group`, null)) as groups
    from (
        select run, f, invoked, completed, source is not null as is_copy, null as `group`
        from {{records}} where {ACKED} union all
        select run, f, invoked, completed, false, `group` from {{operations}}
        where type = 'ok' and (f in ('read', 'commit', 'acknowledgement') or f = 'txn' and {COMMITTED})
    ) join windows using (run)
    group by run, event
"""
