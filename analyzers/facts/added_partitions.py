"""Per record that a group left out at the beginning of a partition which was added while the group read the topic.

With auto.offset.reset=latest, a member starts at the end of a partition as it is when the member learns of it. So it
leaves out what was written before that: KAFKA-20539, for share groups KAFKA-20742.
"""

from __future__ import annotations

from pyspark.sql import DataFrame

from analyzers.facts.fact import ACKED, LOG, fact
from analyzers.facts.members import assignments, commits, of_groups
from analyzers.facts.queues import QUEUES
from analyzers.facts.removals import FINAL_READS
from analyzers.history.load import History

LOG_COLUMNS = ", ".join(LOG)

ADDED = f"""
    sizes as (
        select run, topic, min(partitions) as initial from (
            select run, topic, cast(get_json_object(value, '$.partitions') as int) as partitions
            from {{operations}} where f = 'topic'
            union all
            select run, get_json_object(value, '$.evidence.topic'),
                cast(get_json_object(value, '$.evidence.before') as int)
            from {{operations}} where f = 'add-partitions'
        ) group by run, topic
    ), changes as (
        select run, topic, min(invoked) as altered from {{operations}}
        where f = 'alter' and type <> 'fail' and get_json_object(value, '$.change') = 'partitions'
        group by run, topic
    ), grown as (
        select run, topic, initial, if(initial is null, altered, null) as altered
        from sizes full join changes using (run, topic)
        where initial is not null or altered is not null
    ), written as (
        select /*+ BROADCAST(grown) */ {LOG_COLUMNS}, value, altered, min(offset) as offset,
            min(if(f = 'send', invoked, null)) as sent, bool_or({ACKED}) as is_acknowledged
        from {{records}} join grown using (run, topic)
        where coalesce(partition >= initial, true)
        group by {LOG_COLUMNS}, value, altered
    ), dated as (
        select *, min(sent) over (partition by {LOG_COLUMNS}) as begun from written
    ), added as (
        select {LOG_COLUMNS}, value, offset, sent from dated
        where is_acknowledged and coalesce(begun >= altered, true)
    )
"""
"""Common table expressions. The last one has the acknowledged records of partitions that were added: where the number
of partitions at the creation is not recorded, those to which nothing was sent before an administrator added some."""


@fact(needs="member")
def added_partition_starts(history: History) -> DataFrame:
    """One row per group and acknowledged record of an added partition below the offset at which the group started to
    read it, if it was sent while a member of the group had been assigned another partition of the topic.

    Groups that may have committed a position of the partition before are left out, and so are records below the start
    of the log that the final read found.

    Columns: group, value, offset, sent (ns), policy (auto.offset.reset of the member that started; null if unknown),
    position (where it started), began (ns, when the assignment was complete), polled (whether a member ever did).
    """
    return history.sql(
        f"""
        with {ADDED}, {FINAL_READS}, starts as (
            select run, `group`, topic, partition, min(struct(completed, start_offset, policy)) as start,
                min(min(completed)) over (partition by run, `group`, topic) as reading_since
            from {{assigned}} group by run, `group`, topic, partition
        ), polled as (
            select distinct run, `group`, topic, partition, offset from {{polls}}
        ), firsts as (
            select run, `group`, topic, partition, min(offset) as first_polled from polled
            group by run, `group`, topic, partition
        ), committed as (
            select run, `group`, topic, partition, min(invoked) as tried from {{commits}}
            where type <> 'fail' group by run, `group`, topic, partition
        ), started as (
            select run, `group`, topic, partition, start.policy, start.completed as began,
                coalesce(start.start_offset, first_polled) as position, reading_since
            from starts left join committed using (run, `group`, topic, partition)
                left join firsts using (run, `group`, topic, partition)
            where coalesce(tried > start.completed, true)
        )
        select run, `group`, topic, partition, value, offset, sent, policy, position, began,
            polled.offset is not null as polled
        from added join started using ({LOG_COLUMNS}) left join final_reads using ({LOG_COLUMNS})
            left join polled using (run, `group`, topic, partition, offset)
        where offset < position and sent > reading_since and offset >= coalesce(final_start, 0)
        """,
        assigned=assignments(history),
        commits=commits(history),
        polls=of_groups(history),
    )


@fact(needs="queue")
def added_partition_queues(history: History) -> DataFrame:
    """The same of share groups, if the record was sent after a consumer of the group had got a record of the topic.
    Columns: group, value, offset, sent (ns), position (where it started)."""
    return history.sql(f"""
        with {ADDED}, {FINAL_READS}, {QUEUES}, got as (
            select run, `group`, topic, min(completed) as reading_since from {{operations}}
            where f = 'delivery' and type = 'ok' group by run, `group`, topic
        )
        select run, `group`, topic, partition, value, offset, sent, began as position
        from added join share_groups using ({LOG_COLUMNS}) join got using (run, `group`, topic)
            left join final_reads using ({LOG_COLUMNS})
        where offset < began and sent > reading_since and offset >= coalesce(final_start, 0)
    """)
