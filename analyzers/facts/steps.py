"""Per record polled or acknowledged: the offset before it in what the process did, and the records in between.

And per acknowledged send: the first acknowledgement of a later offset.
"""

from __future__ import annotations

from pyspark.sql import DataFrame, Window
from pyspark.sql import functions as F

from analyzers.facts.compaction import without_compacted
from analyzers.facts.fact import ACKED, GENERATIONS, ISOLATION, LOG, POLLED, TIME, FirstLook, fact, same
from analyzers.facts.members import with_reading
from analyzers.facts.removals import EVERYTHING, removed_beginnings
from analyzers.history.load import History

OURS = [*LOG, "process", "f", "assignment"]
DONE = f"(f = 'poll' or ({ACKED}))"

COLUMNS = [
    *LOG, "process", "f", "op", "offset", "previous", "coalesce(within, false) as within", "value",
    "error", "committed", f"{TIME} as time", "cast(null as bigint) as key",
]  # fmt: skip


# A step between records of a key that goes back although the one before it does not comes after another one of the
# same kind that goes back.
@fact(
    looks=[
        FirstLook(
            per="record",
            columns=same("f error offset"),
            upper={"previous": f"if(f = 'poll' and generation is not null, {EVERYTHING}, previous)"},
        )
    ]
)
def steps(history: History) -> DataFrame:
    """One row per record polled, of any completion type and with any payload, and per acknowledged send.

    Columns: process, f, op, offset, previous and within (see the schema), value, error, committed, time
    (ns), key. Further rows, all without error, are steps that `previous` does not cover: those of `log_steps`
    between generations, and with `key` those from one record of a key to the next that went back although the step
    from the record before it did not.
    """
    return log_steps(history).unionByName(_of_keys(history))


def log_steps(history: History) -> DataFrame:
    """As `steps`, without those of keys, but with the steps of group members into another generation."""
    done = history.records.where(DONE).selectExpr(*COLUMNS)
    return done.unionByName(_into_generations(history)) if history.has(GENERATIONS) else done


def _of_keys(history: History) -> DataFrame:
    """Steps from the last record of the same key, for records that did not go back behind the record before them."""
    keyed = history.records.where(f"key is not null and offset is not null and {DONE}")
    line = Window.partitionBy(*OURS, "generation", "key").orderBy("index")
    return (
        keyed.withColumn("last", F.lag("offset").over(line))
        .withColumn("operation", F.expr("if(f = 'poll', op, transaction)"))
        .withColumn("same", F.col("operation") == F.lag("operation").over(line))
        .where("offset <= last and offset > previous")
        .selectExpr(
            *LOG, "process", "f", "op", "offset", "last as previous", "coalesce(same, false) as within", "value",
            "cast(null as string) as error", "committed", f"{TIME} as time", "key",
        )
    )  # fmt: skip


def _into_generations(history: History) -> DataFrame:
    """From the last record of a group's generation to the first of the next one that the process polled.

    `previous` does not reach across generations. With a partition that it kept, a member continues where it was.
    """
    polled = history.records.where("f = 'poll' and generation is not null and offset is not null")
    spans = (
        polled.withColumn("time", F.expr(TIME))
        .groupBy(*OURS, "generation")
        .agg(
            F.max_by("offset", "index").alias("last"),
            F.max_by("time", "index").alias("until"),
            *(F.min_by(name, "index").alias(name) for name in ("op", "offset", "value", "committed", "time")),
        )
    )
    begun = with_reading(spans, history, at="time", name="reading")
    both = with_reading(begun, history, at="until", name="last_reading")
    line = Window.partitionBy(*OURS).orderBy("generation")
    return (
        both.withColumn("previous", F.lag("last").over(line))
        .withColumn("before", F.lag("last_reading").over(line))
        .where("previous is not null and before = reading")
        .selectExpr(
            *LOG, "process", "f", "op", "offset", "previous", "false as within", "value",
            "cast(null as string) as error", "committed", "time", "cast(null as bigint) as key",
        )
    )  # fmt: skip


BLOCK = 6
"""A block is 64 offsets. The bits of one number show which of them hold records."""

PLACE = f"cast(offset & {(1 << BLOCK) - 1} as int)"
KNOWN = {"known": "true", "polled": "f = 'poll'"}
"""By the step that leaves it out. A send: any known record. A poll without isolation: one that some poll got."""

COMMITTED = {"committed": "f = 'poll' and committed"}
"""A poll of committed records: one that another such poll got."""


LEFT_OUT = "offset > previous + 1 and (f = 'poll' or within)"


@fact(
    looks=[
        FirstLook(
            per="record",
            where=f"{LEFT_OUT} or f = 'poll' and generation is not null",
            columns=same("f"),
            upper=same("within"),
        )
    ]
)
def gaps(history: History) -> DataFrame:
    """One row per poll that is not of the offset after the one before it, and per such send within a transaction.

    Columns: those of `steps`, and below: the highest offset under this one at which a record is known.
    For polls, that is one that any poll returned; with ``committed``, one that any such poll returned, or any poll if
    the record was acknowledged there. For sends, it is one that was polled or
    acknowledged. The step left out a record if and only if ``below > previous``, so the offsets of a gap need not
    be enumerated. Compacted topics are left out, and so are polled records that may have been removed from the
    beginning of the log: the reader goes on at the log start, also within an operation that joins several fetches.
    """
    steps = log_steps(history).where(LEFT_OUT)
    # Compaction may have removed what another reader got earlier.
    left_out = without_compacted(steps, history)
    isolated = "when committed then {0}committed{1} " if history.has(ISOLATION) else ""
    seen = f"case when f = 'send' then {{0}}known{{1}} {isolated}else {{0}}polled{{1}} end"
    return (
        left_out.withColumn("block", F.expr(f"shiftright(offset, {BLOCK})"))
        .join(_blocks(history), [*LOG, "block"], "left")
        .withColumn("here", F.expr(f"({seen.format('bits_', '')}) & ~shiftleft(-1L, {PLACE})"))
        .withColumn("below", F.expr(f"coalesce({highest('here')}, {seen.format('', '_before')})"))
        .join(F.broadcast(removed_beginnings(history)), LOG, "left")
        .withColumn("below", F.expr("if(f = 'poll' and below < removed_to, null, below)"))
        .select(*left_out.columns, "below")
    )


def _blocks(history: History) -> DataFrame:
    """Per block of a log with a record: its bits, and the highest offset with a record in the blocks before."""
    records = history.records.where(f"offset is not null and (f = 'poll' or ({ACKED}))")
    which = KNOWN | COMMITTED if history.has(ISOLATION) else KNOWN
    bits = [
        F.expr(f"coalesce(bit_or(shiftleft(1L, {PLACE})) filter (where {where}), 0L) as bits_{name}")
        for name, where in which.items()
    ]
    blocks = records.groupBy(*LOG, F.expr(f"shiftright(offset, {BLOCK}) as block")).agg(*bits)
    if history.has(ISOLATION):
        # Joined block by block: a union with the records would shuffle all of them, where they lie in buckets.
        blocks = (
            blocks.join(_acknowledged_blocks(history), [*LOG, "block"], "left")
            .withColumn("bits_committed", F.expr("bits_committed | coalesce(bits_acknowledged, 0L)"))
            .drop("bits_acknowledged")
        )
    before = Window.partitionBy(*LOG).orderBy("block").rowsBetween(Window.unboundedPreceding, -1)
    for name in which:
        top = F.expr(highest(f"bits_{name}"))
        blocks = blocks.withColumn(f"{name}_before", F.max(top).over(before))
    return blocks


def _acknowledged_blocks(history: History) -> DataFrame:
    """Per block of a log: the bits of the records that readers of committed records get as well.

    They were acknowledged, in a transaction with its commit, at the offset at which some other reader found them.
    They count like polls of committed records. Only logs with such readers are examined.
    """
    careful = history.records.where("f = 'poll' and committed").select(*LOG).distinct()
    polled = f"({POLLED} and not coalesce(committed, false))"
    return (
        history.records.where(f"offset is not null and value is not null and (({ACKED}) or {polled})")
        .join(F.broadcast(careful), LOG, "left_semi")
        .groupBy(*LOG, "offset", "value")
        .agg(F.expr("bool_or(f = 'send') and bool_or(f = 'poll') as both"))
        .where("both")
        .groupBy(*LOG, F.expr(f"shiftright(offset, {BLOCK}) as block"))
        .agg(F.expr(f"bit_or(shiftleft(1L, {PLACE})) as bits_acknowledged"))
    )


def highest(bits: str) -> str:
    """SQL: the offset of the highest bit set in this block; null for none."""
    return f"if({bits} = 0, null, shiftleft(block, {BLOCK}) + length(bin({bits})) - 1)"


@fact(looks=[FirstLook(per="send", columns=same("invoked overtaken"))])
def acknowledgements(history: History) -> DataFrame:
    """One row per acknowledged send with an offset.

    Columns: process, op, offset, value, invoked, time (ns, of the acknowledgement), and of the send to a
    higher offset of the log that was acknowledged first: overtaker (its offset) and overtaken (ns, its
    acknowledgement); null if there is none.
    """
    # In descending order of offsets, the higher offsets are the rows before the current one.
    above = Window.partitionBy(*LOG).orderBy(F.desc("offset")).rangeBetween(Window.unboundedPreceding, -1)
    return (
        history.records.where(f"{ACKED} and offset is not null")
        .selectExpr(*LOG, "process", "op", "offset", "value", "invoked", "completed as time")
        .withColumn("overtaken", F.min("time").over(above))
        .withColumn("overtaker", F.min_by("offset", "time").over(above))
    )
