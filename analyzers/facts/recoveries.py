"""Per log of a run with faults: when it first acknowledged a send after the last heal."""

from __future__ import annotations

from pyspark.sql import DataFrame

from analyzers.facts.columns import ACKED, TIME
from analyzers.facts.fact import FAULTS, fact
from analyzers.facts.settings import NAME
from analyzers.history.load import History
from workloads.history.schema import NEMESIS

ANSWERED = "(type = 'ok' or offset is not null)"
"""Of a send: a broker acknowledged it, even if its transaction was aborted later."""

RECOVERIES = f"""
    heals as (
        select run, max(completed) as healed
        from {{operations}}
        where process = {NEMESIS} and get_json_object(value, '$.stage') = 'heal' group by run
    ), tries as (
        select /*+ BROADCAST(heals) */ run, topic, partition, healed,
            min(completed) filter (where {ACKED} and invoked >= healed) - healed as recovered,
            max({TIME}) filter (where invoked >= healed) - healed as tried,
            coalesce(bool_or({ACKED} and completed < healed), false) as acked_before,
            min(invoked) filter (where invoked >= healed) as asked,
            max(invoked) filter (where {ANSWERED} and {TIME} >= healed) as answered,
            max(invoked) as last_asked
        from (select * from {{records}} where f = 'send') join heals using (run)
        group by run, topic, partition, healed
    ), recoveries as (
        select run, topic, partition, healed, recovered, acked_before, coalesce(recovered, tried) as lasted,
            asked, answered, max(answered) over (partition by run) as answered_elsewhere, last_asked
        from tries
    )
"""
"""Common table expressions. The last one is the fact."""


@fact(needs=FAULTS)
def recoveries(history: History) -> DataFrame:
    """One row per log.

    Columns, times in ns:

    - healed: when the last heal had completed.
    - recovered: from then to the first acknowledgement of a send that began later; null if there is none.
    - lasted: like recovered; if no such send was acknowledged, the time until the last of them ended; null if there
      was no such send.
    - acked_before: whether a send was acknowledged before that heal.
    - asked: when the first send began after that heal; null for none.
    - answered: when the last send began that a broker acknowledged after that heal, or whose transaction ended after
      it; null for none. answered_elsewhere: the same of all logs of the run together.
    - last_asked: when the last send began.
    - deleted: whether the last change of its topic that began before that is a deletion that was not refused. A run
      deletes its topics when all sends have ended.
    """
    return history.sql(f"""
        with {RECOVERIES}, changes as (
            select run, {NAME} as name, event in ('deleted', 'delete') as deletes, invoked from (
                select run, topic, invoked,
                    coalesce(get_json_object(value, '$.event'), get_json_object(value, '$.change')) as event
                from {{operations}} where f in ('topic', 'alter') and type <> 'fail'
            ) where event in ('created', 'recreated', 'deleted', 'create', 'delete')
        ), last_changes as (
            select /*+ BROADCAST(changes) */ run, topic, partition, max_by(deletes, changes.invoked) as deleted
            from (select *, {NAME} as name from recoveries) join changes using (run, name)
            where changes.invoked < last_asked group by run, topic, partition
        )
        select recoveries.*, {NAME} as name, coalesce(deleted, false) as deleted
        from recoveries left join last_changes using (run, topic, partition)
    """)
