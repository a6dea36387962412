"""Which transactions may break a promise of transactions, from numbers instead of lists of readers.

A reader is one of 64 bits. For a value, its readers and those that passed its offset are two numbers then, and
whether a transaction was torn is a matter of bits. Readers that share a bit may suspect a transaction too much, never
too little: where several of them passed a block of offsets, they count as if none of them had found anything there.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from pyspark.sql import DataFrame

from analyzers.facts.columns import LOG, POLLED, SERVED
from analyzers.facts.coverage import FINAL
from analyzers.facts.poll_spans import poll_spans
from analyzers.facts.transactional_writes import IS_SERVED
from analyzers.facts.transactions import transactions
from analyzers.history.load import History

MANY = 100
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
    rows = suspicious_transactions(history).limit(MANY + 1).collect()
    if not rows:
        return None
    if len(rows) > MANY:
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
