"""The anomalies other than cycles: each is a small query over the shared facts."""

from __future__ import annotations

from functools import reduce

from pyspark.sql import DataFrame, Window
from pyspark.sql import functions as F

from analyzers.jepsen.hits import Error, hits
from analyzers.jepsen.steps import STEPS, steps
from analyzers.jepsen.tables import Tables

NO_WRITER = Error(
    type="no-writer",
    where="reader is not null and writer is null",
    entry="key, value, reader",
    first="reader",
)
"""Not an error type of the reference, whose analysis crashes on it."""

DUPLICATE = Error(
    type="duplicate",
    where="coalesce(size(offsets), 0) > 1",
    entry="key, value, size(offsets) as count, slice(offsets, 1, 1000) as offsets",
    first="offsets[0]",
)
INCONSISTENT_OFFSETS = Error(
    type="inconsistent-offsets", entry="key, offset, place as index, found as values", first="place"
)
ABORTED_READ = Error(
    type="G1a", entry="key, value, writer.pos as writer, pos as reader", first="pos", second="seq"
)
PRECOMMITTED_READ = Error(
    type="precommitted-read", entry="pos as op, one.key as key, one.value as value", first="pos", second="''"
)
LOST_WRITE = Error(
    type="lost-write",
    entry="key, value, first as index, bound as `max-read-index`, writer.pos as writer, max_read as `max-read`",
    first="first",
)
UNSEEN = Error(
    type="unseen",
    where="ok_sent and not ok_read",
    entry="key, value",
    first="try_cast(value as bigint)",
    second="value",
    part="key",
)
"""One row for each value; the values of a key become one error."""


def errors(tables: Tables) -> DataFrame:
    """The errors of all types; see `hits` for the columns."""
    # Only a poll that is ok counts as a read.
    failed = tables.records.where("call = 'poll' and type = 'ok' and failed")
    found = [
        hits(tables.values, [DUPLICATE, UNSEEN, NO_WRITER]),
        hits(tables.order.where("n > 1"), [INCONSISTENT_OFFSETS]),
        hits(failed, [ABORTED_READ]),
        hits(_own_reads(tables), [PRECOMMITTED_READ]),
        hits(_lost_writes(tables), [LOST_WRITE]),
        hits(_only_read_at_last(tables), [UNSEEN]),
        hits(steps(tables), STEPS),
    ]
    return reduce(DataFrame.union, found)


def ranked(found: DataFrame, *, at_most: int) -> DataFrame:
    """The first errors of each run, type and part, with their `total` number."""
    kind = Window.partitionBy("run", "type", "part")
    return (
        found.withColumn("rank", F.row_number().over(kind.orderBy("first", "second", "entry")))
        .withColumn("total", F.count("*").over(kind))
        .where(F.col("rank") <= at_most)
    )


def _own_reads(tables: Tables) -> DataFrame:
    """One row for each operation that polls at least one of its own values."""
    return (
        tables.records.where("f = 'txn' and value is not null")
        .groupBy("run", "key", "value", "pos")
        .agg(
            F.expr("min(seq) filter (where call = 'send')").alias("sent"),
            F.expr("min(seq) filter (where call = 'poll')").alias("polled"),
        )
        .where("sent is not null and polled is not null")
        .groupBy("run", "pos")
        .agg(F.expr("min(struct(sent, key, value))").alias("one"))
    )


def _lost_writes(tables: Tables) -> DataFrame:
    """Values that took effect below the last place that was read, but were never read."""
    log = ["run", "key"]
    seen = tables.values.where("ok_read and first is not null")
    bound = seen.groupBy(*log).agg(F.max("first").alias("bound"))
    below = tables.values.where("last is not null").join(bound, log).where("last <= bound")
    # Any value at that place would do; prefer one with a known reader.
    furthest = F.min(F.expr("if(last = bound, reader, null)")).over(Window.partitionBy(*log))
    lost = (
        below.withColumn("max_read", furthest)
        .where("not coalesce(ok_read, false) and writer.type in ('ok', 'info')")
        .withColumn("proved", F.expr("writer.pos"))
    )
    proved = tables.proved.selectExpr("run", "pos as proved", "true as is_proved")
    return lost.join(proved, ["run", "proved"], "left").where("writer.type = 'ok' or is_proved")


def _only_read_at_last(tables: Tables) -> DataFrame:
    """Values that the reference counts as unseen although they were read.

    It counts what the first ok operation reads of a key to which no ok operation ever sent, and forgets that with the
    next operation. So only what the last ok operation read remains.
    """
    last = last_ok(tables.operations).selectExpr("run", "pos as last")
    keys = (
        tables.records.where("type = 'ok'")
        .groupBy("run", "key")
        .agg(F.expr("max(call = 'send')").alias("sent"), F.min("pos").alias("begun"))
        .where("not sent")
    )
    read = tables.records.where("type = 'ok' and value is not null").select("run", "key", "pos", "value")
    return (
        read.join(keys, ["run", "key"])
        .where("pos = begun")
        .join(F.broadcast(last), "run")
        .where("pos = last")
        .selectExpr("run", "key", "value", "true as ok_sent", "false as ok_read")
        .distinct()
    )


def last_ok(operations: DataFrame) -> DataFrame:
    """The last ok operation of each run: run, pos, time."""
    ok = operations.where("type = 'ok' and f in ('send', 'poll', 'txn')")
    return ok.groupBy("run").agg(F.expr("max(struct(pos, time))").alias("last")).select("run", "last.*")
