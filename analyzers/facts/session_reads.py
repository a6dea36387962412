"""Per completed read of a session: how far the session had got before."""

from __future__ import annotations

from pyspark.sql import DataFrame, Window
from pyspark.sql import functions as F

from analyzers.facts.columns import LOG, TIME
from analyzers.facts.fact import fact
from analyzers.facts.sessions import completed_reads, of_readers, with_isolation
from analyzers.history.load import History

# Of events in the same nanosecond, no completion counts for a read that begins.
BEGINS, COMPLETES = 0, 1


@fact(needs="read")
def session_reads(history: History) -> DataFrame:
    """One row per completed read.

    Columns: session, process, op, end_offset, time (ns, when it began), reached: the end (exclusive) of
    what the session had polled before, or the end that an earlier completed read had reached, whichever is larger,
    and reached_at: when it first had (ns); null for the first. Of a read with read_committed only what the session
    reached with read_committed: the last stable offset, at which it ends, may be below everything else.
    """
    polls = of_readers(history.records, completed_reads(history), history).where("f = 'poll'")
    reads = with_isolation(completed_reads(history), polls)
    key = [*LOG, "session"]
    begun = reads.selectExpr(
        *key, "invoked as at", f"{BEGINS} as kind", "committed", "process", "op", "end_offset"
    )
    done = reads.selectExpr(
        *key,
        "completed as at",
        f"{COMPLETES} as kind",
        "committed",
        "struct(end_offset as end, -completed as since) as reached",
    )
    polled = polls.selectExpr(
        *key,
        f"{TIME} as at",
        f"{COMPLETES} as kind",
        "coalesce(committed, false) as committed",
        f"struct(offset + 1 as end, -{TIME} as since) as reached",
    )
    sofar = Window.partitionBy(*key).orderBy("at", "kind").rowsBetween(Window.unboundedPreceding, 0)
    return (
        begun.unionByName(done, allowMissingColumns=True)
        .unionByName(polled, allowMissingColumns=True)
        .withColumn("alike", F.max(F.expr("if(committed, reached, null)")).over(sofar))
        .withColumn("reached", F.max("reached").over(sofar))
        .where(f"kind = {BEGINS}")
        .withColumn("reached", F.expr("if(committed, alike, reached)"))
        .selectExpr(
            *key, "process", "op", "end_offset", "at as time", "reached.end as reached",
            "-reached.since as reached_at",
        )
    )  # fmt: skip
