"""Which records of share groups may break a promise, from the offsets of what was delivered and acknowledged.

64 offsets of a log are the bits of one number. Such numbers tell which of them the final read found, which were
delivered, how often, and which were accepted or rejected. So most records are neither joined nor sorted, and their
texts are not parsed. The facts read only what was found, delivered and acknowledged at the offsets that are left.
These are remembered by a hash of the partition and the block: an offset may be examined too much, never too little.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from functools import partial

import pyarrow as pa
from pyspark.sql import DataFrame, Row
from pyspark.sql import functions as F

from analyzers.facts.fact import POLLED
from analyzers.facts.queues import QUEUES
from analyzers.history.load import History

WORDS = 1 << 16
"""Numbers of 64 bits that remember offsets: 512 KB, whatever the size of the history."""

MANY_VALUES = 1_000
"""Suspicious records from which all sends are joined with them: values are looked up for each record."""

SUSPICIONS: Mapping[str, str] = {
    "queued": "found & ~(claimed & ~unclaimed) | first",
    "deliveries": (
        "if(n = bit_count(odd) + 2 * bit_count(delivered & ~odd), delivered & ~odd, delivered) | later "
        "| if(delivery_limit < 1, delivered, 0)"
    ),
}
"""By fact: the offsets of a block at which it may have rows that break a promise. Columns, as bits of offsets: found
(by a final read), claimed (accepted or rejected by some acknowledgement), unclaimed (some acknowledgement was not
sent), first (the record with which the group began), delivered, odd (delivered once, or thrice, and so on), later
(delivered with a count that is not 1 or not known); n (all deliveries of the block), delivery_limit.

If the deliveries are as many as one for each odd offset and two for each other one, then each odd one was delivered
once. Otherwise all that were delivered are suspicious."""

EVENTS = "f not in ('delivery', 'acknowledgement')", "start_offset"
"""SQL: operations that are kept, and the offset of all others."""

FLAT = "not contains(substring(value, 2), '{{')"
"""SQL: the object contains no other one, so that a name and value in its text are its own."""

FIRST = """(contains(value, '"deliveries": 1,') or contains(value, '"deliveries": 1}}'))"""
FINAL = """(contains(value, '"kind": "accept"') or contains(value, '"kind": "reject"'))"""
"""SQL: JSON that says so, as our clients write it. Other JSON that says so makes the offset suspicious."""

_SUSPECTS = f"""
    with {QUEUES}, finds as (
        select run, topic, partition, shiftright(offset, 6) as block,
            bit_or(shiftleft(1L, cast(offset & 63 as int))) as found
        from {{records}} where final and {POLLED} group by run, topic, partition, shiftright(offset, 6)
    ), events as (
        select run, `group`, topic, partition, shiftright(start_offset, 6) as block, f = 'delivery' as is_delivery,
            type = 'fail' as is_failed, {FLAT} and if(f = 'delivery', {FIRST}, {FINAL}) as is_usual,
            shiftleft(1L, cast(start_offset & 63 as int)) as bit
        from {{operations}} where f = 'delivery' and type = 'ok' or f = 'acknowledgement'
    ), blocks as (
        select run, `group`, topic, partition, block, 0L as found, count_if(is_delivery) as n,
            bit_or(if(is_delivery, bit, 0)) as delivered, bit_xor(if(is_delivery, bit, 0)) as odd,
            bit_or(if(is_delivery and not coalesce(is_usual, false), bit, 0)) as later,
            bit_or(if(not is_delivery and is_usual, bit, 0)) as claimed,
            bit_or(if(not is_delivery and is_failed, bit, 0)) as unclaimed
        from events group by run, `group`, topic, partition, block
        union all
        select /*+ BROADCAST(queues) */ run, `group`, topic, partition, block, found, 0, 0, 0, 0, 0, 0
        from finds join queues using (run, topic, partition)
    ), together as (
        select run, `group`, topic, partition, block, bit_or(found) as found, max(n) as n,
            bit_or(delivered) as delivered, bit_or(odd) as odd, bit_or(later) as later,
            bit_or(claimed) as claimed, bit_or(unclaimed) as unclaimed
        from blocks group by run, `group`, topic, partition, block
    ), limited as (
        select /*+ BROADCAST(queues) */ *, if(
            shiftright(first_confirmed, 6) = block, shiftleft(1L, cast(first_confirmed & 63 as int)), 0L
        ) as first
        from together left join queues using (run, `group`, topic, partition)
    ), suspects as (
        select run, :word as word, inline(array(:bits))
        from limited
    )
    select fact, run, word, bit_or(bits) as bits from suspects where bits <> 0
    group by grouping sets ((fact, run), (fact, word))
"""


def suspects(suspicions: Mapping[str, str] = SUSPICIONS) -> str:
    """SQL: columns fact, run, word, bits. By fact: the runs with suspicious offsets (word is null), and, apart from
    these, the numbers that remember their offsets (run is null)."""
    bits = ", ".join(
        f"struct('{fact}' as fact, coalesce({each}, -1L) as bits)" for fact, each in suspicions.items()
    )
    return _SUSPECTS.replace(":word", _word("block")).replace(":bits", bits)


def _word(block: str) -> str:
    """SQL: which number remembers the offsets of a block."""
    return f"cast(pmod(xxhash64(partition, {block}), {WORDS}) as int)"


def of_suspicious_offsets(history: History, *, fact: str) -> History | None:
    """The part of the history with what happened at suspicious offsets; None: there are none. One Spark job for both
    facts, and one more for `queued` if there are some."""
    rows = history.shared_result(suspects())
    of_fact = [row for row in rows if row.fact == fact]
    if not of_fact:
        return None
    runs = sorted({row.run for row in of_fact if row.word is None})
    words = _words(history, of_fact)
    operations = history.shared_rows("queue_operations", partial(_operations, rows=rows))
    operations = _at(operations.where(F.col("run").isin(runs)), *EVENTS, words)
    part = replace(history.of_runs(runs), operations=operations)
    if fact != "queued":
        return part
    records = _at(part.records, "f = 'send'", "offset", words)
    found = records.where(f"final and {POLLED}").select("value").limit(MANY_VALUES + 1)
    values = sorted({row.value for row in found.collect()})
    if len(values) <= MANY_VALUES:
        records = part.records.where(f"value in ({', '.join(f'{value}L' for value in values) or 'null'})")
    return replace(part, records=records)


def _operations(history: History, *, rows: Iterable[Row]) -> DataFrame:
    """All but deliveries and acknowledgements of offsets that are not suspicious."""
    return _at(history.operations, *EVENTS, _words(history, rows))


def _words(history: History, rows: Iterable[Row]) -> DataFrame:
    """One row with the numbers that remember these offsets."""
    words = [0] * WORDS
    for row in rows:
        if row.word is not None:
            words[row.word] |= row.bits
    return history.records.sparkSession.createDataFrame(
        pa.table({"words": pa.array([words], pa.list_(pa.int64()))})
    )


def _at(rows: DataFrame, others: str, offset: str, words: DataFrame) -> DataFrame:
    """The rows at offsets that are remembered, and others."""
    word = _word(f"shiftright({offset}, 6)")
    return rows.sparkSession.sql(
        f"""
        select * from {{rows}} where {others} or coalesce(
            getbit(get((select words from {{words}}), {word}), cast({offset} & 63 as int)) = 1, true
        )
        """,
        rows=rows,
        words=words,
    )


PARTS: Mapping[str, Callable[[History], History | None]] = {
    fact: partial(of_suspicious_offsets, fact=fact) for fact in SUSPICIONS
}
"""By fact: the part of a history that it needs; None: it finds nothing."""
