"""Per value written to or read from a log: where and when it was sent, acknowledged and polled."""

from __future__ import annotations

from pyspark.sql import DataFrame, Window
from pyspark.sql import functions as F

from analyzers.facts.columns import ACKED, LOG, POLLED, TIME
from analyzers.facts.fact import fact
from analyzers.facts.final_reads import final_reads
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
    "sent_at": f"max({TIME}) filter (where f = 'send')",
    "sender": "max(process) filter (where f = 'send')",
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

    - top: the highest offset that any poll returned from the log; null for none,
    - until: when the run's last record completed (ns),
    - final_start, final_end, final_invoked: see `final_reads`; null without a completed one,
    - settled: whether that final read had to find the value, because it was acknowledged before the read began or
      below the end of the read. With read_committed, only what lies below its end, the last stable offset, counts.
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
    in_time = "acked_at <= final_invoked and not final_committed and not coalesce(isolated, false)"
    settled = f"coalesce({in_time}, false) or coalesce(acked_offset < final_end, false)"
    return (
        fates.selectExpr("*", *bits)
        .join(F.broadcast(_bounds(history)), LOG, "left")
        .join(finals.drop("final_process"), LOG, "left")
        .withColumn("settled", F.expr(settled))
        .drop("isolated")
    )


def _bounds(history: History) -> DataFrame:
    logs = history.records.groupBy(*LOG).agg(
        F.expr("max(offset) filter (where f = 'poll') as top"),
        F.expr(f"max({TIME}) as last"),
        F.expr("bool_or(committed) filter (where f = 'poll' and final) as isolated"),
    )
    run = Window.partitionBy("run")
    return logs.withColumn("until", F.max("last").over(run)).drop("last")
