"""The snapshots of all accounts that a run took, see `workloads.roles.snapshots`."""

from __future__ import annotations

from typing import NamedTuple

from analyzers.history.load import History


class Snapshots(NamedTuple):
    """Numbers of snapshots."""

    taken: int
    whole: int
    """Those that reached the ends of all logs."""
    of_transfers: int
    """Those of them that began after the commit of a transaction had been acknowledged."""


NO_SNAPSHOTS = Snapshots(0, 0, 0)


def snapshots(history: History) -> dict[str, Snapshots]:
    """By run, of those with snapshots."""
    rows = history.rows(_SNAPSHOTS)
    return {row.run: Snapshots(row.taken, row.whole, row.later) for row in rows}


_SNAPSHOTS = """
    with commits as (
        select run, min(completed) as first from {operations}
        where f = 'txn' and type = 'ok' and get_json_object(value, '$.outcome') = 'commit' group by run
    ), each as (
        select run, process, get_json_object(value, '$.snapshot') as number, min(invoked) as began,
            every(type = 'ok') as whole
        from {operations} where f = 'read' and get_json_object(value, '$.snapshot') is not null
        group by run, process, number
    )
    select run, count(*) as taken, count_if(whole) as whole, count_if(whole and began > first) as later
    from each left join commits using (run) group by run
"""
"""Per run: the numbers of snapshots, of completed ones, and of those that began after a commit was acknowledged."""
