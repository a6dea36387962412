"""Where and when each value was sent, acknowledged and polled, and which offsets held several values."""

from __future__ import annotations

from pyspark.sql import DataFrame, Window
from pyspark.sql import functions as F

from analyzers.facts.compaction import newest_of_keys
from analyzers.facts.fact import ACKED, COMPACTED_TOPICS, LOG, POLLED, SERVED, TIME, FirstLook, fact, same
from analyzers.facts.removals import final_reads, removals, removed_beginnings
from analyzers.history.load import History

OF_VALUES = f"(value is not null and (f = 'send' or ({POLLED})))"
"""The row is a send or an intact poll of a value."""

# Conditions of which each is true of a value if it is true of any of its rows. As bits of one number, they need
# little memory in the shuffle.
SEEN = {
    "sent": "f = 'send'",
    "acked": ACKED,
    "failed": "f = 'send' and type = 'fail'",
    "transactional": "f = 'send' and transaction is not null",
    "polled": "f = 'poll'",
    "read_committed": "f = 'poll' and committed",
    "in_final": "f = 'poll' and type = 'ok' and final and process = final_process and invoked >= final_invoked",
}

COLUMNS = {
    # Of the send; null if there is none.
    "acked_offset": f"max(offset) filter (where {ACKED})",
    "acked_at": f"max(completed) filter (where {ACKED})",
    "sender": "max(process) filter (where f = 'send')",
    "key": "max(key)",
    "begun_at": "min(invoked) filter (where f = 'send')",
    # Of the polls.
    "returned_at": "min(completed) filter (where f = 'poll')",
    "polled_offset": "min(offset) filter (where f = 'poll')",
    "polled_at": f"min({TIME}) filter (where f = 'poll')",
    "poll": "min(op) filter (where f = 'poll')",
    "poller": "min_by(process, op) filter (where f = 'poll')",
    # Of both: acknowledgements and polls have an offset.
    "first_offset": "min(offset) filter (where f = 'poll' or type = 'ok')",
    "last_offset": "max(offset) filter (where f = 'poll' or type = 'ok')",
}


_SEEN = "sent acked failed transactional polled read_committed in_final first_offset last_offset returned_at begun_at"


@fact(
    confined_to="value",
    looks=[FirstLook(per="value", columns=same(_SEEN), upper=same("settled due"))],
)
def values(history: History) -> DataFrame:
    """One row per log and value. Columns: value, those of `COLUMNS`, whether each condition in `SEEN` is true, and

    - top, until: see `removals`,
    - overwritten: whether compaction may have removed it, because a record of the same key lies behind it,
    - removed: whether it may have been removed: from the beginning of the log, below `removed_to`, or by compaction,
    - final_start, final_end, final_invoked: see `final_reads`; null without a completed one,
    - settled: whether that final read had to find the value, because it was acknowledged before the read began or
      below the end of the read. With read_committed, only what lies below its end, the last stable offset, counts,
    - due: the same of a value that a poll returned: below the end of the read, or before the end was requested.
    """
    finals = F.broadcast(final_reads(history))
    said = " | ".join(f"if(coalesce({sql}, false), {1 << bit}, 0)" for bit, sql in enumerate(SEEN.values()))
    rows = history.records.where(OF_VALUES).where(history.value_filter)
    placed = rows.join(finals.select(*LOG, "final_process", "final_invoked"), LOG, "left").withColumn(
        "said", F.expr(said)
    )
    aggregates = [F.expr(f"{sql} as {name}") for name, sql in COLUMNS.items()]
    fates = placed.groupBy(*LOG, "value").agg(F.bit_or("said").alias("said"), *aggregates)
    bits = [f"said & {1 << bit} <> 0 as {name}" for bit, name in enumerate(SEEN)]
    isolated = "(final_committed or coalesce(isolated, false))"
    in_time = f"acked_at < final_invoked and not {isolated}"
    settled = f"coalesce({in_time}, false) or coalesce(acked_offset < final_end, false)"
    # An unanswered send may append its record after the end was requested, and a reader may still get it.
    returned = f"returned_at < least(final_invoked, final_phase) and not {isolated}"
    due = f"coalesce({returned}, false) or coalesce(polled_offset < final_end, false)"
    # An acknowledgement may lack an offset, and any record may have been below a log start above 0.
    offset = "coalesce(acked_offset, polled_offset, 0)"
    overwritten = f"coalesce({offset} < newest, false)"
    known = (
        fates.selectExpr("*", *bits)
        .join(F.broadcast(removals(history)), LOG, "left")
        .join(finals.drop("final_process"), LOG, "left")
    )
    if history.has(COMPACTED_TOPICS):
        known = known.join(newest_of_keys(history), [*LOG, "key"], "left")
    else:
        known = known.withColumn("newest", F.lit(None))
    return known.withColumns({
        "settled": F.expr(settled),
        "due": F.expr(due),
        "overwritten": F.expr(overwritten),
        "removed": F.expr(f"coalesce({offset} < removed_to, false) or {overwritten}"),
    }).drop("final_phase", "removed_to", "isolated", "key", "newest")  # fmt: skip


# A value replaces another if the other one is not seen any more, and its batch has a later leader epoch. An
# acknowledgement carries no epoch; the later epoch must then be above 0, so that there was one before it.
FOLLOWS = """
    coalesce(last_before < first, false)
    and coalesce(low_epoch > coalesce(epoch_before, 0), false)
"""


@fact(confined_to="offset", looks=[FirstLook(per="value", where="shared is not null")])
def conflicts(history: History) -> DataFrame:
    """One row per log and offset at which polls and acknowledgements showed more than one value.

    Columns: offset; low, high: the smallest and the largest value; earliest, latest: the one seen first
    and the one seen last, where a polled one was seen when its response arrived; epoch: the leader epoch of
    the latest, where it was polled; reused: whether each value has a later leader epoch than the one before
    it, and was first seen after that was last seen; time (ns): when the latest was first seen; settled
    (ns): the last acknowledgement, else the first poll.
    """
    seen = f"value is not null and offset is not null and (({ACKED}) or ({POLLED}))"
    views = history.records.where(seen).where(history.value_filter)
    if history.value_filter == "true":
        # Only the few values that share an offset are aggregated further. To find these offsets takes another pass
        # over the records, which does not pay where the filter leaves few offsets.
        views = views.join(F.broadcast(_shared(views)), [*LOG, "offset"], "left_semi")
    spans = views.groupBy(*LOG, "offset", "value").agg(
        F.expr(f"min({SERVED}) as first"),
        F.expr(f"max({SERVED}) as last"),
        F.expr("min(leader_epoch) as low_epoch"),
        F.expr("max(leader_epoch) as high_epoch"),
        F.expr("max(completed) filter (where f = 'send') as acked_at"),
        F.expr("min(completed) filter (where f = 'poll') as polled_at"),
    )
    line = Window.partitionBy(*LOG, "offset").orderBy("first", "value")
    return (
        spans.withColumn("last_before", F.lag("last").over(line))
        .withColumn("epoch_before", F.lag("high_epoch").over(line))
        .withColumn("follows", F.expr(f"last_before is null or ({FOLLOWS})"))
        .groupBy(*LOG, "offset")
        .agg(
            F.min("value").alias("low"),
            F.max("value").alias("high"),
            F.expr("min(struct(first, value)).value as earliest"),
            F.expr("max(struct(first, value)).value as latest"),
            F.expr("max(struct(first, value, high_epoch)).high_epoch as epoch"),
            F.expr("bool_and(follows) as reused"),
            F.expr("max(first) as time"),
            F.expr("coalesce(max(acked_at), min(polled_at)) as settled"),
        )
        .where("low < high")
    )


def _shared(views: DataFrame) -> DataFrame:
    """The offsets at which several values were seen. Columns: those of `LOG`, offset."""
    return (
        views.groupBy(*LOG, "offset")
        .agg(F.min("value").alias("low"), F.max("value").alias("high"))
        .where("low < high")
        .select(*LOG, "offset")
    )


UNKNOWN = "f = 'send' and type = 'info'"


@fact(confined_to="value", looks=[FirstLook(per="value", where="polled and unknown")])
def proved_sends(history: History) -> DataFrame:
    """One row per log and value that was sent with completion type info and polled.

    Columns: value; of the send: process, op, invoked (ns); of the polls: offset (the lowest one), time (ns, the first
    completion); and of the send to a higher offset of the log that was acknowledged first: overtaker (its offset)
    and overtaken (ns, its acknowledgement), null if there is none.
    """
    proved = (
        history.records.where(f"value is not null and (({UNKNOWN}) or ({POLLED}))")
        .where(history.value_filter)
        .groupBy(*LOG, "value")
        .agg(
            *(
                F.expr(f"min({name}) filter (where f = 'send') as {name}")
                for name in ("process", "op", "invoked")
            ),
            F.expr("min(offset) filter (where f = 'poll') as offset"),
            F.expr("min(completed) filter (where f = 'poll') as time"),
        )
        .where("invoked is not null and offset is not null")
    )
    acked = history.records.where(f"{ACKED} and offset is not null").selectExpr(
        *LOG, "offset", "completed as acked_at"
    )
    # In descending order of offsets, the higher offsets are the rows before the current one.
    above = Window.partitionBy(*LOG).orderBy(F.desc("offset")).rangeBetween(Window.unboundedPreceding, -1)
    return (
        proved.unionByName(acked, allowMissingColumns=True)
        .withColumn("overtaken", F.min("acked_at").over(above))
        .withColumn("overtaker", F.min_by("offset", "acked_at").over(above))
        .where("value is not null")
        .drop("acked_at")
    )


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
