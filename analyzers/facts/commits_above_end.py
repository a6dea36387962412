"""Per acknowledged commit above the end of the log that the final read found: how far the log is known to reach."""

from __future__ import annotations

from pyspark.sql import DataFrame

from analyzers.facts.columns import LOG
from analyzers.facts.fact import fact
from analyzers.facts.final_reads import FINAL_READS
from analyzers.facts.members import commits
from analyzers.history.load import History

LOG_COLUMNS = ", ".join(LOG)

_ABOVE = f"""
    with {FINAL_READS}, undecided as (
        select distinct run, true as is_undecided from {{operations}} where f = 'txn' and type <> 'ok'
    ), ends as (
        select {LOG_COLUMNS}, final_invoked, final_end, final_committed, coalesce(is_undecided, false) as is_undecided
        from final_reads left join undecided using (run)
    ), above as (
        select /*+ BROADCAST(ends) */ commits.*, final_end, final_committed, is_undecided
        from {{commits}} as commits join ends using ({LOG_COLUMNS})
        where type = 'ok' and not reset and invoked < final_invoked and offset > final_end
    ), known as (
        select {LOG_COLUMNS}, offset + 1 as reached, final and committed as is_isolated from {{records}}
        union all
        select {LOG_COLUMNS}, greatest(log_end, high_watermark), false from {{observations}}
        union all
        select {LOG_COLUMNS}, end_offset, false from {{operations}} where f in ('read', 'final-read')
    ), reaches as (
        select /*+ BROADCAST(above) */ {LOG_COLUMNS}, max(reached) as reached, bool_or(is_isolated) as is_isolated
        from known left semi join above using ({LOG_COLUMNS}) group by {LOG_COLUMNS}
    )
    select {LOG_COLUMNS}, `group`, process, op, generation, offset, invoked as time, final_end, reached
    from above join reaches using ({LOG_COLUMNS})
    where not (is_undecided and (final_committed or is_isolated))
"""


@fact(needs="commit")
def commits_above_end(history: History) -> DataFrame:
    """One row per ok commit of a position above the end of the log that its last completed final read, which began
    later, found. Resets are left out, as they go to any position.

    A final read of committed records, as its row or its polls say, counts only if all transactions of the run have
    ended: it finds the last stable offset, and the log may go on behind it.

    Columns: group, process, op, generation, offset, time (ns, its invocation), final_end, and reached: the end
    (exclusive) of the log that any record, read or answer of a broker shows, at whatever time.
    """
    return history.sql(_ABOVE, commits=commits(history))
