"""Per value written to or read from a log: where and when it was sent, acknowledged and polled."""

from __future__ import annotations

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from analyzers.facts.columns import ACKED, LOG, POLLED, TIME
from analyzers.facts.compaction import newest_of_keys
from analyzers.facts.fact import fact
from analyzers.facts.final_reads import final_reads
from analyzers.facts.removals import removals
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


@fact(confined_to="value")
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
    if history.has_compaction:
        known = known.join(newest_of_keys(history), [*LOG, "key"], "left")
    else:
        known = known.withColumn("newest", F.lit(None))
    return known.withColumns({
        "settled": F.expr(settled),
        "due": F.expr(due),
        "overwritten": F.expr(overwritten),
        "removed": F.expr(f"coalesce({offset} < removed_to, false) or {overwritten}"),
    }).drop("final_phase", "removed_to", "isolated", "key", "newest")  # fmt: skip
