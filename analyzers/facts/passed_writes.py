"""Per acknowledged write that no reader got: whether a reader passed its offset after a truncation."""

from __future__ import annotations

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from analyzers.facts.columns import ACKED, LOG, POLLED
from analyzers.facts.fact import fact
from analyzers.facts.removals import removed_beginnings
from analyzers.history.load import History

_PASSED = f"""
    with sends as (
        select run, topic, partition, value, invoked as sent from {{records}} where f = 'send'
    ), polls as (
        select run, topic, partition, offset, previous, if({POLLED}, value, null) as value, leader_epoch
        from {{records}} where leader_epoch is not null
    ), dated as (
        select *, max(sent) over (
            partition by run, topic, partition, leader_epoch order by offset desc
            range between unbounded preceding and current row
        ) as sent_until
        from polls left join sends using (run, topic, partition, value)
    ), seen as (
        select distinct run, value from {{records}} where f = 'poll'
    ), unread as (
        select run, topic, partition, value, process as sender, offset as acked_offset, completed as acked_at
        from {{records}} left anti join seen using (run, value)
        where {ACKED}
    ), places as (
        select run, topic, partition, offset, previous, null as value from polls
        union all select run, topic, partition, acked_offset, null, value from unread
    ), reached as (
        select run, value, min(previous) over (
            partition by run, topic, partition order by offset desc
            range between unbounded preceding and current row
        ) < offset as is_passed
        from places
    ), passed as (
        select unread.* from unread left semi join (select * from reached where is_passed) using (run, value)
    )
    select distinct passed.* from passed join dated
        on dated.run = passed.run and dated.topic = passed.topic and dated.partition = passed.partition
            and dated.previous < acked_offset
            and (dated.offset > acked_offset or dated.offset = acked_offset and dated.value <> passed.value)
            and sent_until > acked_at
"""
"""`passed` is there to be small: a reader passed these offsets, in whatever epoch."""


@fact()
def passed_writes(history: History) -> DataFrame:
    """One row per log and value whose send was acknowledged at an offset that a reader passed, if nobody polled it.

    The reader polled a record below the offset and, next in the assignment, one above it or another one at it. That
    record has a leader epoch, and a record of this epoch at the same or at a higher offset, which anybody polled, was
    sent after the acknowledgement.

    Columns: value, sender, acked_offset, acked_at (ns); removed_to: the offset below which records may have been
    removed, 0 for none.
    """
    return (
        history.sql(_PASSED)
        .join(F.broadcast(removed_beginnings(history)), LOG, "left")
        .withColumn("removed_to", F.expr("coalesce(removed_to, 0)"))
    )
