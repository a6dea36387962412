"""Per topic that a broker described: the changes of it that had been acknowledged."""

from __future__ import annotations

from pyspark.sql import DataFrame

from analyzers.facts.fact import fact
from analyzers.history.load import History

_INSPECTIONS = """
    with changes as (
        select run, topic, type, invoked, completed,
            from_json(value, 'change string, partitions int, retention_ms bigint') as value
        from {operations} where f = 'alter' and type <> 'fail'
    ), answers as (
        select run, topic, process, op, invoked, completed,
            from_json(value, 'node int, exists boolean, partitions int, retention_ms bigint') as value
        from {operations} where f = 'inspect' and type = 'ok'
    ), moments as (
        select run, topic, invoked as at, 0 as rank, completed, type, value.change, value.partitions,
            value.retention_ms as retention, null as inspection
        from changes union all
        select run, topic, completed, 1, null, null, null, null, null, struct(
            process, op, invoked, completed, value.node, value.exists as there, value.partitions,
            value.retention_ms as retention
        )
        from answers
    ), ordered as (
        select run, topic, inspection, max(type = 'info') over before as unknown,
            max(completed) over before as latest,
            max(struct(completed, change)) over before as changed,
            max(if(partitions is null, null, struct(completed, partitions))) over before as sized,
            max(if(retention is null, null, struct(completed, retention))) over before as kept
        from moments window before as (
            partition by run, topic order by at, rank rows between unbounded preceding and current row
        )
    ), compared as (
        select run, topic, inspection.*, inspection.completed as time,
            unknown or coalesce(latest > inspection.invoked, false) as unclear, changed.change = 'delete' as deleted,
            sized.partitions as wanted, kept.retention as wanted_retention
        from ordered where inspection is not null and unknown is not null
    )
    select *, if(deleted, 'deleted', concat_ws(', ', concat(wanted, ' partitions'),
            concat('retention.ms ', wanted_retention))) as expected,
        if(there, concat_ws(', ', concat(partitions, ' partitions'), concat('retention.ms ', retention)),
            'unknown topic') as reported
    from compared
"""


@fact(needs="inspect")
def inspections(history: History) -> DataFrame:
    """One row per topic, broker and inspection, if some change of the topic was not refused before it ended.

    Columns:

    - process, op, node, time (ns): who asked which broker, and when it had answered.
    - there, partitions, retention: what the broker reported; the latter two are null where it did not.
    - deleted: whether the last change is a deletion; wanted, wanted_retention: the last number of partitions and the
      last setting that a change stated, null for none; expected, reported: all of this as text.
    - unclear: whether one of these changes has an unknown outcome, or was not acknowledged when the inspection began.
    """
    return history.sql(_INSPECTIONS)
