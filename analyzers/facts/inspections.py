"""Per topic that a broker described: the changes of it that had been acknowledged."""

from __future__ import annotations

from pyspark.sql import DataFrame

from analyzers.facts.fact import fact
from analyzers.history.load import History

_INSPECTIONS = """
    with alters as (
        select run, topic, type, invoked, completed, get_json_object(value, '$.change') as change,
            cast(get_json_object(value, '$.partitions') as int) as partitions,
            cast(get_json_object(value, '$.retention_ms') as bigint) as retention
        from {operations} where f = 'alter' and type <> 'fail'
    ), inspected as (
        select run, topic, process, op, invoked, completed, cast(get_json_object(value, '$.node') as int) as node,
            get_json_object(value, '$.exists') = 'true' as there,
            cast(get_json_object(value, '$.partitions') as int) as partitions,
            cast(get_json_object(value, '$.retention_ms') as bigint) as retention
        from {operations} where f = 'inspect' and type = 'ok'
    ), compared as (
        select i.run, i.topic, i.process, i.op, i.node, i.there, i.partitions, i.retention, i.completed as time,
            bool_or(a.type = 'info' or a.completed > i.invoked) as unclear,
            max_by(a.change, a.completed) = 'delete' as deleted,
            max_by(a.partitions, a.completed) filter (where a.partitions is not null) as wanted,
            max_by(a.retention, a.completed) filter (where a.retention is not null) as wanted_retention
        from inspected i join alters a
            on i.run = a.run and i.topic = a.topic and a.invoked <= i.completed
        group by all
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
