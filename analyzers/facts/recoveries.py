"""Per log of a run with faults: when it first acknowledged a send after the last heal."""

from __future__ import annotations

from pyspark.sql import DataFrame

from analyzers.facts.columns import ACKED, TIME
from analyzers.facts.fact import fact
from analyzers.history.load import History
from workloads.history.schema import NEMESIS

RECOVERIES = f"""
    heals as (
        select run, max(completed) as healed
        from {{operations}}
        where process = {NEMESIS} and get_json_object(value, '$.stage') = 'heal' group by run
    ), tries as (
        select /*+ BROADCAST(heals) */ run, topic, partition, healed,
            min(completed) filter (where {ACKED} and invoked >= healed) - healed as recovered,
            max({TIME}) filter (where invoked >= healed) - healed as tried,
            coalesce(bool_or({ACKED} and completed < healed), false) as acked_before
        from (select * from {{records}} where f = 'send') join heals using (run)
        group by run, topic, partition, healed
    ), recoveries as (
        select run, topic, partition, healed, recovered, acked_before, coalesce(recovered, tried) as lasted
        from tries
    )
"""
"""Common table expressions. The last one is the fact."""


@fact()
def recoveries(history: History) -> DataFrame:
    """One row per log.

    Columns, times in ns:

    - healed: when the last heal had completed.
    - recovered: from then to the first acknowledgement of a send that began later; null if there is none.
    - lasted: like recovered; if no such send was acknowledged, the time until the last of them ended; null if there
      was no such send.
    - acked_before: whether a send was acknowledged before that heal.
    """
    return history.sql(f"with {RECOVERIES} select * from recoveries")
