"""Per completed read of a session: how far the session had got before."""

from __future__ import annotations

from pyspark.sql import DataFrame, Window
from pyspark.sql import functions as F

from analyzers.facts.columns import LOG, TIME
from analyzers.facts.fact import fact
from analyzers.facts.sessions import completed_reads, of_readers
from analyzers.history.load import History

# Of events in the same nanosecond, completed reads count for reads that begin, and polls do not.
DONE, BEGINS, POLLS = 0, 1, 2


@fact(needs="read")
def session_reads(history: History) -> DataFrame:
    """One row per completed read.

    Columns: session, process, op, end_offset, time (ns, when it began), reached: the end (exclusive) of
    what the session had polled before, or the end that an earlier completed read had reached, whichever is larger,
    and reached_at: when it first had (ns); null for the first.
    """
    reads = completed_reads(history)
    key = [*LOG, "session"]
    begun = reads.selectExpr(*key, "invoked as at", f"{BEGINS} as kind", "process", "op", "end_offset")
    done = reads.selectExpr(
        *key,
        "completed as at",
        f"{DONE} as kind",
        "struct(end_offset as end, -completed as since) as reached",
    )
    polled = (
        of_readers(history.records, reads, history)
        .where("f = 'poll'")
        .selectExpr(
            *key,
            f"{TIME} as at",
            f"{POLLS} as kind",
            f"struct(offset + 1 as end, -{TIME} as since) as reached",
        )
    )
    sofar = Window.partitionBy(*key).orderBy("at", "kind").rowsBetween(Window.unboundedPreceding, 0)
    return (
        begun.unionByName(done, allowMissingColumns=True)
        .unionByName(polled, allowMissingColumns=True)
        .withColumn("reached", F.max("reached").over(sofar))
        .where(f"kind = {BEGINS}")
        .selectExpr(
            *key, "process", "op", "end_offset", "at as time", "reached.end as reached",
            "-reached.since as reached_at",
        )
    )  # fmt: skip
