"""Per answer of a leader: its log start, and how far records may have been removed."""

from __future__ import annotations

from pyspark.sql import DataFrame

from analyzers.facts.fact import SAMPLES, fact
from analyzers.facts.leading import answers_of_leaders
from analyzers.facts.removals import removals
from analyzers.facts.settings import NAME
from analyzers.history.load import History

SHORT = 3_600_000
"""ms. A topic that ever had a shorter retention may have lost any of its records."""


@fact(needs=SAMPLES)
def log_starts(history: History) -> DataFrame:
    """One row per answer of a leader of a log that the run's clients used.

    Columns: node, leader_epoch, time (ns, when the answer had arrived), log_start; before: the highest log start that
    it had reported in this epoch and over this connection before it was asked, null for none; and allowed_to: the
    offset below which records may have been removed as far as the run recorded it (see `removals`), null where that
    is unknown: where the topic ever was compacted, was limited in bytes or had a retention below `SHORT`, or a fault
    changed clocks.
    """
    return history.records.sparkSession.sql(
        _LOG_STARTS,
        led=answers_of_leaders(history),
        allowed=removals(history).select("run", "topic", "partition", "allowed_to"),
        observations=history.observations,
        operations=history.operations,
    )


_LOG_STARTS = f"""
    with limited as (
        select distinct run, {NAME} as name, true as is_limited from {{observations}}
        where kind = 'settings' and (
            get_json_object(value, "$['cleanup.policy']") like '%compact%'
            or cast(get_json_object(value, "$['retention.bytes']") as bigint) >= 0
            or cast(get_json_object(value, "$['retention.ms']") as bigint) between 0 and {SHORT}
        )
    ), clocks as (
        select distinct run, true as has_clock from {{operations}} where f = 'clock'
    ), moments as (
        select run, topic, partition, node, leader_epoch, connection, inline(array(
            struct(time as at, log_start as answered, null as sample),
            struct(asked as at, null as answered, struct(time, log_start) as sample)
        ))
        from {{led}}
    ), ordered as (
        select *, max(answered) over (
            partition by run, topic, partition, node, leader_epoch, connection order by at
            range between unbounded preceding and 1 preceding
        ) as highest
        from moments
    )
    select /*+ BROADCAST(allowed, limited, clocks) */ run, topic, partition, node, leader_epoch, sample.time,
        sample.log_start,
        if(connection is not null, highest, null) as before,
        if(is_limited or has_clock, null, allowed_to) as allowed_to
    from (select *, {NAME} as name from ordered where sample is not null)
        join {{allowed}} as allowed using (run, topic, partition)
        left join limited using (run, name) left join clocks using (run)
"""
