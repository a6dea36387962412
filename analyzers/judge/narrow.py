"""Narrows a history down to what a fact needs, where that is known from far fewer rows than its records.

To see that a fact finds nothing, or at which offsets, in which transactions or of which records it may, takes less
work than to compute it. So it is looked for first, in a statement of its own, and mostly the fact is then left out.

Of transactions, a reader is one of 64 bits. For a value, its readers and those that passed its offset are two numbers
then. Readers that share a bit may suspect a transaction too much, never too little: where several of them passed a
block of offsets, they count as if none of them had found anything there.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from itertools import pairwise

from pyspark.sql import DataFrame, Window
from pyspark.sql import functions as F

from analyzers.facts.commits import assignments_below, commits_above
from analyzers.facts.fact import LOG, POLLED, SERVED
from analyzers.facts.members import GROUP_LOG, commits, members, poll_spans, polls_of_groups
from analyzers.facts.owners import assignments_above
from analyzers.facts.steps import BLOCK, highest
from analyzers.facts.transactions import FINAL, IS_SERVED, transactions
from analyzers.history.load import History
from analyzers.judge import narrow_coordinated, narrow_queues
from workloads.history.schema import VALUE_BITS


def poll_bits(history: History) -> DataFrame:
    """One row per block of 64 offsets of a log of which a poll returned a record. Several facts read it, so it is
    computed once.

    Columns: those of `LOG`, block, bits. May also have rows of runs that are not in this part of a history.
    """
    return history.shared_rows("poll_bits", _poll_bits)


def _poll_bits(history: History) -> DataFrame:
    return (
        history.records.where("f = 'poll' and offset is not null")
        .groupBy(*LOG, F.expr(f"shiftright(offset, {BLOCK}) as block"))
        .agg(F.expr(f"bit_or(shiftleft(1L, {_place('offset')})) as bits"))
    )


def last_polled(history: History, ranges: DataFrame) -> DataFrame:
    """The ranges of offsets in which some poll returned a record: columns of `LOG`, low, high.

    ranges: the same columns. The result ends each at the highest offset of such a record.
    """
    asked = ranges.selectExpr(*LOG, f"shiftright(high, {BLOCK}) as block", "low", "high")
    known = poll_bits(history).withColumn("top", F.expr(highest("bits")))
    earlier = Window.partitionBy(*LOG).orderBy("block").rangeBetween(Window.unboundedPreceding, -1)
    here = f"(bits & ~shiftleft(-2L, {_place('high')}))"
    return (
        asked.unionByName(known, allowMissingColumns=True)
        .withColumn("bits", F.max("bits").over(Window.partitionBy(*LOG, "block")))
        .withColumn("before", F.max("top").over(earlier))
        .where("high is not null")
        .withColumn("last", F.expr(f"coalesce(if(bits is null, null, {highest(here)}), before)"))
        .where("last >= low")
        .selectExpr(*LOG, "low", "last as high")
    )


def _place(offset: str) -> str:
    """SQL: the bit of an offset in its block."""
    return f"cast({offset} & {(1 << BLOCK) - 1} as int)"


MANY_RECORDS = 1_000
"""Suspicious records from which the fact is computed in full: they are looked up for each record."""

_COPIES = f"""
    with copiers as (
        select /*+ BROADCAST(of) */ distinct run, `group` from {{records}} join {{members}} as of using (run, process)
        where f = 'send' and source is not null
    ), positions as (
        select run, topic, partition, `group`, max(offset) as position
        from {{commits}} left semi join copiers using (run, `group`)
        where type = 'ok' and completed is not null group by run, topic, partition, `group`
    ), kept as (
        select /*+ BROADCAST(positions) */ value, run, `group`, null as copy, false as is_sure
        from {{records}} join positions using (run, topic, partition)
        where final and {POLLED} and offset < position
    ), copies as (
        select /*+ BROADCAST(of) */ source as value, made.run, `group`, value as copy,
            f = 'send' or committed as is_sure
        from {{records}} as made join {{members}} as of
            on made.run = of.run and of.process = cast(shiftright(value, {VALUE_BITS}) as int)
        where source is not null and (f = 'send' and type = 'ok' or {POLLED})
    )
    select value, run, `group`
    from (select * from kept union all select * from copies)
    group by value, run, `group`
    having not bool_or(coalesce(is_sure, false)) or min(copy) < max(copy)
"""


def suspicious_records(history: History) -> DataFrame:
    """Columns: value, run, group. The records below the position of a group that a final read found, if no copy is
    surely readable; and records with several copies that may be readable."""
    return history.records.sparkSession.sql(
        _COPIES, records=history.records, members=members(history), commits=commits(history)
    )


def of_suspicious_copies(history: History) -> History | None:
    """The part of the history with suspicious records and their copies; None: there are none. One Spark job."""
    rows = suspicious_records(history).limit(MANY_RECORDS + 1).collect()
    if not rows:
        return None
    if len(rows) > MANY_RECORDS:
        return history
    found = ", ".join(f"{value}L" for value in sorted({row.value for row in rows}))
    return replace(
        history.of_runs({row.run for row in rows}),
        value_filter=f"value in ({found})",
        source_filter=f"source in ({found})",
    )


MANY_TRANSACTIONS = 100
"""Suspicious transactions from which the fact is computed in full."""

MANY_VALUES = 2_000
"""The same of values, which are looked up for each record."""

BLOCK_BITS = 10
"""A block is 1,024 offsets. A reader that passed one of them counts as if it had passed the block."""

SUSPICIONS: Mapping[str, str] = {
    "torn-transaction": "saw & missed <> 0",
    "precommitted-read": "first_read < coalesce(ending, last_sent) or (unended and saw <> 0) or is_own",
    "zombie-write": "last_sent > fenced",
}
"""By check: a condition of each transaction in which it finds something. Columns: saw, missed (bits of readers that
polled a record of it, and of those that passed one and may have missed it), first_read (ns), is_own (whether the
number of this transaction lies between the lowest and the highest of those in which one of its values was polled),
last_sent (ns, the last invocation of its sends), and ending, unended and fenced, see
`analyzers.facts.transactions`."""

LOG_COLUMNS = ", ".join(LOG)

BIT = "shiftleft(1L, cast(pmod(reader + 1, 64) as int))"

_TRANSACTIONS = f"""
    with readers as (
        select {LOG_COLUMNS}, process, assignment, if(final, {FINAL}, process) as reader,
            min(low) as low, max(high) as high
        from {{spans}} where committed group by {LOG_COLUMNS}, process, assignment, final
    ), ranges as (
        select {LOG_COLUMNS}, reader, low, high from readers
        union all
        select {LOG_COLUMNS}, if(f = 'final-read', {FINAL}, process), start_offset, end_offset - 1
        from {{operations}} where f in ('read', 'final-read') and type = 'ok' and start_offset < end_offset
    ), passes as (
        select {LOG_COLUMNS}, reader, {BIT} as bit,
            explode(sequence(shiftright(low, {BLOCK_BITS}), shiftright(high, {BLOCK_BITS}))) as block
        from ranges
    ), bits as (
        select {LOG_COLUMNS}, block, bit, min(reader) < max(reader) as is_shared
        from passes group by {LOG_COLUMNS}, block, bit
    ), passers as (
        select {LOG_COLUMNS}, block, bit_or(bit) as passed, bit_or(if(is_shared, bit, 0L)) as shared
        from bits group by {LOG_COLUMNS}, block
    ), sightings as (
        select {LOG_COLUMNS}, value, f = 'send' as is_send, transaction, invoked, offset,
            if({IS_SERVED}, {SERVED}, null) as served, if(coalesce(final, false), {FINAL}, process) as reader
        from {{records}} where value is not null and (
            (f = 'send' and transaction is not null) or ({POLLED} and coalesce(committed, false))
        )
    ), written as (
        select {LOG_COLUMNS}, value, max(if(is_send, transaction, null)) as transaction,
            max(if(is_send, invoked, null)) as sent, max(if(is_send, offset, null)) as offset,
            min(if(is_send, null, offset)) as least, max(if(is_send, null, offset)) as most,
            min(if(is_send, null, transaction)) as from_transaction,
            max(if(is_send, null, transaction)) as to_transaction,
            min(if(is_send, null, served)) as first_read, bit_or(if(is_send, 0L, {BIT})) as readers
        from sightings group by {LOG_COLUMNS}, value
    ), blocks as (
        select {LOG_COLUMNS}, transaction, shiftright(offset, {BLOCK_BITS}) as block, max(sent) as sent,
            min(first_read) as first_read, bit_or(readers) as saw,
            bit_and(if(offset <> least or offset <> most, 0L, readers)) as saw_all,
            bool_or(transaction between from_transaction and to_transaction) as is_own
        from written where transaction is not null
        group by {LOG_COLUMNS}, transaction, shiftright(offset, {BLOCK_BITS})
    ), parts as (
        select /*+ SHUFFLE_HASH(passers) */ run, transaction, bit_or(saw) as saw,
            bit_or(passed & (~saw_all | shared)) as missed, min(first_read) as first_read, bool_or(is_own) as is_own,
            max(sent) as last_sent
        from blocks left join passers using ({LOG_COLUMNS}, block)
        group by run, transaction
    )
    select /*+ SHUFFLE_HASH(parts) */ parts.run, transaction
    from parts left join {{transactions}} as ends on parts.run = ends.run and transaction = ends.op
    where {{condition}}
"""


def suspicious_transactions(history: History, suspicions: Mapping[str, str] = SUSPICIONS) -> DataFrame:
    """Columns: run, transaction (op). Of those with a send."""
    condition = " or ".join(f"coalesce({each}, false)" for each in suspicions.values())
    return history.records.sparkSession.sql(
        _TRANSACTIONS.replace("{condition}", condition),
        records=history.records,
        operations=history.operations,
        spans=poll_spans(history),
        transactions=transactions(history).select("run", "op", "ending", "unended", "fenced"),
    )


def of_suspicious_transactions(history: History) -> History | None:
    """The part of the history with the values of suspicious transactions; None: there are none. One Spark job, and
    one more if there are some."""
    rows = suspicious_transactions(history).limit(MANY_TRANSACTIONS + 1).collect()
    if not rows:
        return None
    if len(rows) > MANY_TRANSACTIONS:
        return history
    found = ", ".join(f"{op}L" for op in sorted({row.transaction for row in rows}))
    part = history.of_runs({row.run for row in rows})
    sends = part.records.where(f"f = 'send' and transaction in ({found}) and value is not null")
    values = sorted({row.value for row in sends.select("value").limit(MANY_VALUES + 1).collect()})
    if len(values) > MANY_VALUES:
        return history
    return replace(
        part,
        value_filter=f"value in ({', '.join(f'{value}L' for value in values)})",
        transaction_filter=f"op in ({found})",
    )


RANGES = 8
"""Ranges of offsets with which each record is compared: with 64 of them, Spark's code became too long for the
compiler, and 6 million records took 13 instead of 1 s of processor time."""

OFFSETS_EACH = 1_000
"""Offsets up to which each record is looked up among them instead."""

MANY = 10_000
"""Ranges from which the fact is computed in full: they are collected."""

Range = tuple[int, int]
"""The lowest and the highest offset."""


def narrow(history: History, fact: str) -> History | None:
    """The part of the history outside of which the fact finds nothing; None: it finds nothing at all. One Spark job
    for facts that can be narrowed down, none for others."""
    if fact in PARTS:
        return PARTS[fact](history)
    make = OFFSETS.get(fact)
    if make is None:
        return history
    ranges = last_polled(history, make(history).select(*LOG, "low", "high"))
    rows = ranges.select("run", "low", "high").distinct().limit(MANY + 1).collect()
    if not rows:
        return None
    if len(rows) > MANY:
        return history
    condition = offset_filter([(row.low, row.high) for row in rows])
    return replace(history.of_runs({row.run for row in rows}), offset_filter=condition)


def offset_filter(ranges: Sequence[Range]) -> str:
    """SQL: the offset lies in one of the ranges, or, if there are many, near one."""
    apart = joined(ranges, at_most=len(ranges))
    if sum(high - low + 1 for low, high in apart) <= OFFSETS_EACH:
        each = ", ".join(f"{offset}L" for low, high in apart for offset in range(low, high + 1))
        return f"offset in ({each})"
    few = joined(apart, at_most=RANGES)
    return "(" + " or ".join(f"offset between {low} and {high}" for low, high in few) + ")"


def joined(ranges: Iterable[Range], *, at_most: int) -> Sequence[Range]:
    """Ranges that contain all of these: overlapping ones joined, and then those with the least between them."""
    found: list[Range] = []
    for low, high in sorted(ranges):
        if found and low <= found[-1][1] + 1:
            found[-1] = found[-1][0], max(found[-1][1], high)
        else:
            found.append((low, high))
    between = sorted((after[0] - before[1], before[1]) for before, after in pairwise(found))
    ends = {end for _, end in between[: max(0, len(found) - at_most)]}
    kept: list[Range] = []
    for low, high in found:
        if kept and kept[-1][1] in ends:
            kept[-1] = kept[-1][0], high
        else:
            kept.append((low, high))
    return kept


def _polls_again(history: History) -> DataFrame:
    """The polls of which `redeliveries` has rows: it needs the records between these offsets, and no others."""
    return (
        polls_of_groups(history)
        .withColumnRenamed("known", "last")
        .drop("committed")
        .join(F.broadcast(assignments_below(history)), GROUP_LOG)
        .where("process = member and generation = of and assignment = unsought and last > known")
        .where("low <= committed")
        .selectExpr(*LOG, "low", "least(high, committed) as high")
    )


PARTS: Mapping[str, Callable[[History], History | None]] = {
    "copies": of_suspicious_copies,
    "transactional_writes": of_suspicious_transactions,
    **narrow_coordinated.PARTS,
    **narrow_queues.PARTS,
}
"""By fact: the part of a history that it needs; None: it finds nothing."""

OFFSETS: Mapping[str, Callable[[History], DataFrame]] = {
    "commit_reaches": lambda history: commits_above(history).selectExpr(
        *LOG, "reached as low", "offset - 1 as high"
    ),
    "handovers": lambda history: assignments_above(history).selectExpr(
        *LOG, "reached as low", "position - 1 as high"
    ),
    "redeliveries": _polls_again,
}
"""By fact: rows of `LOG`, low and high, the offsets of a log of which it needs the records."""
