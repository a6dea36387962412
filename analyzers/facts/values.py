"""Per value written to or read from a log: what became of it."""

from __future__ import annotations

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from analyzers.facts.columns import ACKED, LOG, POLLED, TIME
from analyzers.facts.final_reads import final_reads
from analyzers.load import History

COLUMNS = {
    # the send; where there is none these are null or false
    "sent": "bool_or(f = 'send')",
    "acked": f"bool_or({ACKED})",
    "failed": "bool_or(f = 'send' and type = 'fail')",
    "acked_offset": f"max(offset) filter (where {ACKED})",
    "acked_at": f"max(completed) filter (where {ACKED})",
    "sent_at": f"max({TIME}) filter (where f = 'send')",
    "sender": "max(process) filter (where f = 'send')",
    "begun_at": "min(invoked) filter (where f = 'send')",
    "transactional": "bool_or(f = 'send' and transaction is not null)",
    # the polls
    "polled": "bool_or(f = 'poll')",
    "read": "bool_or(f = 'poll' and type = 'ok')",
    "in_final": "bool_or(f = 'poll' and type = 'ok'"
    " and coalesce(final and process = final_process and invoked >= final_invoked, false))",
    "read_committed": "bool_or(f = 'poll' and type = 'ok' and coalesce(committed, false))",
    "returned_at": "min(completed) filter (where f = 'poll')",
    "polled_offset": "min(offset) filter (where f = 'poll')",
    "polled_at": f"min({TIME}) filter (where f = 'poll')",
    "poll": "min(op) filter (where f = 'poll')",
    "poller": "min_by(process, op) filter (where f = 'poll')",
    # both: an acknowledgement names an offset as well as a poll does
    "first_offset": "min(offset) filter (where f = 'poll' or type = 'ok')",
    "last_offset": "max(offset) filter (where f = 'poll' or type = 'ok')",
}


def values(history: History) -> DataFrame:
    """One row per log and value. Columns: value, those of `COLUMNS`, and

    - top: the highest offset that any ok poll returned from the log; null for none,
    - final_start, final_end, final_invoked: see `final_reads`; null without a completed one,
    - settled: whether that final read had to find the value, being acknowledged before it began or
      below the end it was told.
    """
    finals = F.broadcast(final_reads(history.operations))
    rows = history.records.where(f"value is not null and (f = 'send' or {POLLED})")
    placed = rows.join(finals.select(*LOG, "final_process", "final_invoked"), LOG, "left")
    fates = placed.groupBy(*LOG, "value").agg(*(F.expr(sql).alias(name) for name, sql in COLUMNS.items()))
    ends = finals.drop("final_process")
    settled = "coalesce(acked_at <= final_invoked, false) or coalesce(acked_offset < final_end, false)"
    return (
        fates.join(F.broadcast(_tops(history)), LOG, "left")
        .join(ends, LOG, "left")
        .withColumn("settled", F.expr(settled))
    )


def _tops(history: History) -> DataFrame:
    polled = history.records.where("f = 'poll' and type = 'ok'")
    return polled.groupBy(*LOG).agg(F.max("offset").alias("top"))
