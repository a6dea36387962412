"""Per time without an acknowledgement of a log: how long it lasted."""

from __future__ import annotations

from pyspark.sql import DataFrame

from analyzers.facts.columns import ACKED, TIME
from analyzers.facts.fact import fact
from analyzers.history.load import History

GRAIN = 100_000_000
"""ns. Sends are aggregated by tenths of a second, so that only these aggregates are shuffled."""

WAITED = f"""
    grains as (
        select run, topic, partition, {TIME} div {GRAIN} as grain,
            min(completed) filter (where {ACKED}) as first_ack, max(completed) filter (where {ACKED}) as last_ack,
            min(invoked) as asked, max({TIME}) as last
        from {{records}} where f = 'send' group by run, topic, partition, {TIME} div {GRAIN}
    ), numbered as (
        select *, count(first_ack) over earlier as number, max(last_ack) over earlier as before
        from grains
        window earlier as (
            partition by run, topic, partition order by grain rows between unbounded preceding and 1 preceding
        )
    ), waited as (
        select run, topic, partition, greatest(max(before), min(asked)) as began,
            coalesce(min(first_ack), max(last)) as ended
        from numbered group by run, topic, partition, number
    )
"""
"""Common table expressions. The last one has every wait with its beginning and end (ns); one or more for each log."""


@fact()
def waits(history: History) -> DataFrame:
    """One row per wait that took any time. Columns: began, lasted (ns).

    A wait ends with an acknowledgement, the last one of a log with its last send; it begins with the
    acknowledgement before, or the first invocation of the sends that ended in it if that came later.
    """
    return history.sql(
        f"with {WAITED} select run, topic, partition, began, ended - began as lasted from waited where began < ended"
    )
