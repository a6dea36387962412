"""Per acknowledged send of a session: what the session had read and written before."""

from __future__ import annotations

from pyspark.sql import DataFrame, Window
from pyspark.sql import functions as F

from analyzers.facts.columns import ACKED, LOG, TIME
from analyzers.facts.fact import SENDS_AND_POLLS, fact
from analyzers.facts.sessions import of_users
from analyzers.history.load import History

# Of events in the same nanosecond, a completion does not count for a beginning.
BEGINS, COMPLETES = 0, 1


@fact(needs=SENDS_AND_POLLS)
def session_sends(history: History) -> DataFrame:
    """One row per acknowledged send with an offset, of sessions as `of_users` explains.

    Columns: session, process, op, offset, value, invoked, time (ns, of the acknowledgement); read and
    read_at: the highest offset of the log that the session had polled before it invoked the send, and
    when first (ns); written and written_at: the same for its acknowledged sends. Null for none.
    """
    rows = of_users(history).where(f"offset is not null and (f = 'poll' or ({ACKED}))")
    key = [*LOG, "session"]
    done = rows.selectExpr(
        *key,
        f"{TIME} as at",
        f"{COMPLETES} as kind",
        f"if(f = 'poll', struct(offset, -{TIME} as since), null) as reading",
        f"if(f = 'send', struct(offset, -{TIME} as since), null) as writing",
    )
    begun = rows.where("f = 'send'").selectExpr(
        *key, "invoked as at", f"{BEGINS} as kind", "process", "op", "offset", "value", "invoked",
        "completed as time",
    )  # fmt: skip
    line = Window.partitionBy(*key).orderBy("at", "kind").rowsBetween(Window.unboundedPreceding, 0)
    return (
        begun.unionByName(done, allowMissingColumns=True)
        .withColumn("reading", F.max("reading").over(line))
        .withColumn("writing", F.max("writing").over(line))
        .where(f"kind = {BEGINS}")
        .selectExpr(
            *key, "process", "op", "offset", "value", "invoked", "time",
            "reading.offset as read", "-reading.since as read_at",
            "writing.offset as written", "-writing.since as written_at",
        )
    )  # fmt: skip
