"""Per log: what may have removed records from its beginning, as far as the run recorded it."""

from __future__ import annotations

from pyspark.sql import DataFrame

from analyzers.facts.columns import TIME
from analyzers.history.load import History
from workloads.history.schema import NEMESIS

EVERYTHING = (1 << 63) - 1
"""An offset above all others."""

_REMOVALS = f"""
    with logs as (
        select run, topic, partition, max(offset) filter (where f = 'poll') as top, max({TIME}) as last,
            bool_or(committed) filter (where f = 'poll' and final) as isolated
        from {{records}} group by run, topic, partition
    ), lengths as (
        select *, max(last) over (partition by run) as until from logs
    ), created as (
        select run, topic, invoked, get_json_object(value, "$.config['cleanup.policy']") as policy,
            try_cast(get_json_object(value, "$.config['retention.ms']") as bigint) as ms,
            try_cast(get_json_object(value, "$.config['retention.bytes']") as bigint) as bytes
        from {{operations}} where f = 'topic' and get_json_object(value, '$.event') in ('created', 'recreated')
    ), settings as (
        select run, topic, min(invoked) as since, bool_and(policy not like '%compact%' and bytes < 0) as unlimited,
            bool_or(policy is null or ms is null or bytes is null) as incomplete,
            min(if(ms < 0, null, ms)) as least
        from created group by run, topic
    ), removing as (
        select run, get_json_object(value, '$.evidence.topic') as topic,
            try_cast(get_json_object(value, '$.evidence.partition') as int) as partition,
            try_cast(get_json_object(value, '$.evidence.start') as bigint) as start
        from {{operations}}
        where process = {NEMESIS} and get_json_object(value, '$.removes_records') = 'true'
            and get_json_object(value, '$.stage') = 'inject'
    ), removers as (
        select run, true as removing, bool_or(start is null) as unlocated from removing group by run
    ), deleted as (
        select run, topic, partition, max(start) as deleted_to from removing group by run, topic, partition
    ), observed as (
        select run, topic, partition, max(log_start) as seen_start
        from {{observations}} where kind = 'partition' group by run, topic, partition
    ), phases as (
        select run, min(invoked) as final_phase from {{operations}}
        where f = 'phase' and get_json_object(value, '$.phase') = 'final' group by run
    ), combined as (
        select run, topic, partition, top, until, isolated, final_phase, deleted_to, seen_start,
            coalesce(removing, false) as removing, coalesce(unlocated, false) as unlocated,
            unlimited and not incomplete and coalesce(least >= (until - since) / 1000000, true) as stays
        from lengths left join settings using (run, topic) left join removers using (run)
            left join deleted using (run, topic, partition) left join observed using (run, topic, partition)
            left join phases using (run)
    )
    select run, topic, partition, top, until, isolated, final_phase, coalesce(stays and not removing, false) as kept,
        if(not coalesce(stays, true) or unlocated, {EVERYTHING}, coalesce(greatest(deleted_to, seen_start), 0))
            as removed_to
    from combined
"""


def removals(history: History) -> DataFrame:
    """One row per log with a record.

    Columns: top, the highest offset that any poll returned (null for none); until (ns), when the run's last record
    completed; isolated: whether a final read polled with read_committed; final_phase (ns): when the final phase
    began, after which the ends of the logs are requested, and then the final reads begin; kept: whether the topic's
    settings and the faults of the run allow no record to go, so that a log start above 0 is a loss; removed_to: the
    offset below which records may have been removed, as far as this is known without a final read. An unknown offset
    is `EVERYTHING`.

    Retention by time counts where it is not longer than the run: a record is removed when it is that old. A history
    without rows of its topics does not say what its settings allow; nothing there is `kept`.
    """
    return history.sql(_REMOVALS)
