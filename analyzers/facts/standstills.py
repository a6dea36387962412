"""Per time without an output of an application while inputs waited: how long it lasted."""

from __future__ import annotations

from pyspark.sql import DataFrame

from analyzers.facts.columns import ACKED
from analyzers.facts.fact import fact
from analyzers.facts.pipelines import COMMITTED, outputs
from analyzers.history.load import History

_STANDSTILLS = f"""
    with {COMMITTED}, sources as (
        select run, topic, partition, end_offset as position, get_json_object(value, '$.sink') as sink,
            invoked as until
        from {{operations}} where f = 'pipeline' and type = 'ok'
    ), fed as (
        select /*+ BROADCAST(sources) */ run, topic, partition, sink, until, position, value, offset,
            completed as acked
        from {{records}} join sources using (run, topic, partition) where {ACKED} and offset is not null
    ), made as (
        select run, sink, value, min(written) as written from {{outputs}} group by run, sink, value
    ), joined as (
        select run, topic, partition, until, position, offset, acked, written
        from fed left join made using (run, sink, value)
    ), clocks as (
        select run, count(written) > 0 and 2 * count_if(written >= acked) >= count(written) as is_timed
        from joined group by run
    ), passed as (
        select *, min(seen) over (
            partition by run, topic, partition order by at desc range between unbounded preceding and current row
        ) as passed_at
        from (
            select run, topic, partition, offset as at, null as seen, until, position, acked, written from joined
            union all
            select run, topic, partition, position - 1, time, null, null, null, null from committed_positions
        )
    ), answered as (
        select /*+ BROADCAST(clocks) */ run, topic, partition, acked, is_timed, coalesce(
            if(is_timed, written, passed_at), if(at < position, null, until)
        ) as answered
        from passed join clocks using (run) where acked is not null
    ), waits as (
        select run, topic, partition, is_timed, answered as ended,
            greatest(lag(answered) over log, min(acked) over later) as began
        from answered
        window log as (partition by run, topic, partition order by answered),
            later as (
                partition by run, topic, partition order by answered
                rows between current row and unbounded following
            )
    )
    select run, topic, partition, began, ended - began as lasted, is_timed from waits where began < ended
"""


@fact(needs="pipeline")
def standstills(history: History) -> DataFrame:
    """One row per time between two outputs of inputs of a log in which an input waited whose send was acknowledged.

    Columns: began, lasted (ns); is_timed: whether the outputs have timestamps of when they were written. Where most
    of them lie before the acknowledgements of their inputs, as those of Kafka Streams do, and of aggregates, which
    name no input, what counts is when a committed position behind an input was reported.

    An input that was never answered waits until the outputs were read at the end, unless it lies below the position
    that the group had committed then: it is lost, and nobody works at it.
    """
    return history.sql(_STANDSTILLS, outputs=outputs(history))
