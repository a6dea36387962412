"""The anomalies other than cycles: each is a small query over the shared facts, and those of a fact share a pass."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import reduce

from pyspark.sql import DataFrame, Window
from pyspark.sql import functions as F

from analyzers.jepsen.tables import Tables


@dataclass(frozen=True, kw_only=True)
class Error:
    """An error type and its condition over the rows of a fact; all fields but `type` are SQL."""

    type: str
    entry: str
    """Columns of the description. Keys and values in them are JSON."""
    first: str
    second: str = "key"
    """Sort keys of the errors of a type: a number, then a text."""
    where: str = "true"
    part: str = "''"
    """Errors are counted and listed separately for each part."""


def hits(rows: DataFrame, errors: Sequence[Error]) -> DataFrame:
    """One row for each error that applies to a row: run, type, part, first, second, entry (JSON)."""
    each = ", ".join(f"if({error.where}, {_hit(error)}, null)" for error in errors)
    anything = " or ".join(f"({error.where})" for error in errors)
    return rows.where(anything).selectExpr("run", f"inline(filter(array({each}), hit -> hit is not null))")


def _hit(error: Error) -> str:
    return (
        f"named_struct('type', '{error.type}', 'part', {error.part}, 'first', cast({error.first} as bigint), "
        f"'second', cast({error.second} as string), "
        f"'entry', to_json(struct({error.entry}), map('ignoreNullFields', 'false')))"
    )


COUNTS = "(call = 'poll' and type = 'ok') or (call = 'send' and type in ('ok', 'info'))"
"""Operations that move the position of the process to their last record. Others do not move it."""


INSIDE = "key, array(within.value, value) as values, delta, pos as op"
OUTSIDE = "key, array(last.value, value) as values, delta, array(last.pos, pos) as ops"
SKIPPED = ", coalesce(within.place, last.place) as `from`, place as `to`"
"""The skipped values are looked up later, only for the errors that are listed."""

POLL, SEND = "call = 'poll'", "call = 'send'"
WITHIN = "within is not null"
ACROSS = "within is null"

STEPS = (
    Error(
        type="int-poll-skip",
        where=f"{POLL} and {WITHIN} and not rebalanced and delta > 1",
        entry=INSIDE + SKIPPED,
        first="pos",
    ),
    Error(
        type="int-nonmonotonic-poll",
        where=f"{POLL} and {WITHIN} and not rebalanced and delta < 1",
        entry=INSIDE,
        first="pos",
    ),
    Error(
        type="int-send-skip", where=f"{SEND} and {WITHIN} and delta > 1", entry=INSIDE + SKIPPED, first="pos"
    ),
    Error(
        type="int-nonmonotonic-send", where=f"{SEND} and {WITHIN} and delta < 1", entry=INSIDE, first="pos"
    ),
    Error(
        type="poll-skip",
        where=f"{POLL} and {ACROSS} and delta > 1",
        entry=OUTSIDE.replace(" array(last.value, value) as values,", "") + SKIPPED,
        first="pos",
    ),
    Error(type="nonmonotonic-poll", where=f"{POLL} and {ACROSS} and delta < 1", entry=OUTSIDE, first="pos"),
    Error(
        type="nonmonotonic-send",
        where=f"{SEND} and {ACROSS} and type in ('ok', 'info') and delta < 1",
        entry=OUTSIDE,
        first="pos",
    ),
)


def steps(tables: Tables) -> DataFrame:
    """Steps other than one place forward, with `delta`. An unknown place counts as the next one."""
    return (
        _rows(tables)
        .withColumn("delta", F.expr("place - if(within is null, last.place, within.place)"))
        .where("delta != 1")
    )


def _rows(tables: Tables) -> DataFrame:
    """Per record: within (the previous record of the key in its operation) and last (the last record of the key in
    the last operation of the process that counts; not across an assign or subscribe without the key)."""
    record = "pos, value is not null as real, seq, place, value"
    rows = _since_resets(tables).where("call in ('poll', 'send')")
    moves = ["run", "process", "key", "call"]
    # A poll may name a key first without and later with records; then only the records count.
    one = Window.partitionBy(*moves).orderBy("pos", "real", "seq")
    before = Window.partitionBy(*moves, "epoch").orderBy("pos").rangeBetween(Window.unboundedPreceding, -1)
    return (
        rows.withColumn("real", F.expr("value is not null"))
        .withColumn("within", F.lag(F.struct("pos", "place", "value")).over(one))
        .withColumn("within", F.expr("if(within.pos = pos and within.value is not null, within, null)"))
        .withColumn("last", F.expr(f"if({COUNTS}, struct({record}), null)"))
        .withColumn("last", F.max("last").over(before))
        .where("real")
    )


def _since_resets(tables: Tables) -> DataFrame:
    """The records, with epoch: the number of earlier assigns and subscribes without the key.

    It is the number of all resets of the process minus those with the key, so that resets need no row for every key.
    """
    columns = ["run", "process", "pos", "call", "key", "type", "seq", "place", "value", "rebalanced"]
    resets = tables.operations.where("f in ('assign', 'subscribe') and type in ('ok', 'info')")
    rows = tables.records.selectExpr(*columns, "cast(null as array<string>) as keys", "false as resets")
    marks = resets.selectExpr("run", "process", "pos", "keys", "true as resets")
    everything = rows.unionByName(marks, allowMissingColumns=True)
    process = Window.partitionBy("run", "process").orderBy("pos")
    one_key = Window.partitionBy("run", "process", "key", "side").orderBy("pos")
    spread = everything.withColumn("resetting", F.sum(F.expr("int(resets)")).over(process)).selectExpr(
        *(column for column in columns if column != "key"),
        "resets",
        "resetting",
        "explode(if(resets, array_distinct(keys), array(key))) as key",
    )
    sides = spread.withColumn("side", F.expr("explode(if(resets, array('poll', 'send'), array(call)))"))
    return sides.withColumn("epoch", F.expr("resetting") - F.sum(F.expr("int(resets)")).over(one_key))


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
