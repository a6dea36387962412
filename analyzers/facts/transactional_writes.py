"""Per value sent within a transaction: its readers, the readers that passed it, and the end of its transaction."""

from __future__ import annotations

from pyspark.sql import DataFrame, Window
from pyspark.sql import functions as F

from analyzers.facts.columns import LOG, POLLED, SERVED
from analyzers.facts.compaction import without_compacted
from analyzers.facts.coverage import FINAL, coverage
from analyzers.facts.fact import fact
from analyzers.facts.removals import removed_beginnings
from analyzers.facts.transactions import transactions
from analyzers.history.load import History

COMMITTED = "f = 'poll' and coalesce(committed, false)"
IS_SERVED = "(fetched is not null or completed is not null)"
"""Of a poll: it is known when the broker had answered."""

READER = f"if(coalesce(final, false), {FINAL}, process)"


def written(history: History) -> DataFrame:
    """One row per log and value of a transaction, of those that `History.value_filter` leaves.

    Columns: value, transaction; of the send: process, kind (its completion type), offset, invoked (ns);
    of the polls: polled (by any process), readers (those with read_committed), within (the transactions they
    polled in), first_read (ns, when the first response arrived of which that is known), read_offset.
    """
    rows = history.records.where(
        f"value is not null and ((f = 'send' and transaction is not null) or ({POLLED}))"
    ).where(history.value_filter)
    sent = "f = 'send'"
    return (
        rows.groupBy(*LOG, "value")
        .agg(
            F.expr(f"max(transaction) filter (where {sent})").alias("transaction"),
            F.expr(f"max(process) filter (where {sent})").alias("process"),
            F.expr(f"max(type) filter (where {sent})").alias("kind"),
            F.expr(f"max(offset) filter (where {sent})").alias("offset"),
            F.expr(f"min(invoked) filter (where {sent})").alias("invoked"),
            F.expr("bool_or(f = 'poll')").alias("polled"),
            F.expr(f"collect_set({READER}) filter (where {COMMITTED})").alias("readers"),
            F.expr(f"collect_set(transaction) filter (where {COMMITTED})").alias("within"),
            F.expr(f"min({SERVED}) filter (where {IS_SERVED} and {COMMITTED})").alias("first_read"),
            F.expr(f"min(offset) filter (where {COMMITTED})").alias("read_offset"),
        )
        .where("transaction is not null")
    )


@fact(needs="txn")
def transactional_writes(history: History) -> DataFrame:
    """The rows of `written` with their offset, and

    - missed: readers (read_committed) that passed the offset and never found the value; none if it may have been
      removed from the beginning of the log, or by compaction,
    - saw: readers that polled any record of the transaction,
    - ending (ns): when the end of the transaction was requested; null if it was not, or if that is not known,
    - last_sent (ns): when its last send was invoked; until then it was open,
    - unended: whether its client gave up and did not request an end,
    - fenced (ns): when its producer had been fenced; null for never.
    """
    passed = "filter(spans, s -> offset between s.low and s.high and not array_contains(readers, s.reader))"
    found = without_compacted(coverage(history).select(*LOG, "spans"), history)
    parts = (
        written(history)
        .join(F.broadcast(found), LOG, "left")
        .join(F.broadcast(removed_beginnings(history)), LOG, "left")
        .withColumn("spans", F.expr("if(offset < removed_to, null, spans)"))
        .withColumn("missed", F.expr(f"coalesce(transform({passed}, s -> s.reader), array())"))
        .drop("spans", "removed_to")
    )
    known = transactions(history).selectExpr("run", "op as transaction", "ending", "unended", "fenced")
    of = Window.partitionBy("run", "transaction")
    return (
        parts.unionByName(known, allowMissingColumns=True)
        .withColumn("saw", F.array_distinct(F.flatten(F.collect_list("readers").over(of))))
        .withColumn("ending", F.max("ending").over(of))
        .withColumn("last_sent", F.max("invoked").over(of))
        .withColumn("unended", F.max("unended").over(of))
        .withColumn("fenced", F.max("fenced").over(of))
        .where("value is not null")
    )
