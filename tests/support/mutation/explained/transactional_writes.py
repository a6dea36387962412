"""Mutants of `analyzers.facts.transactional_writes` that no history can tell from the original, by the reason
for that."""

from __future__ import annotations

BY_REASON: dict[str, tuple[str, ...]] = {
    "only polls have the column": (
        "COMMITTED: \"f = 'poll' and coalesce(committed, false)\" -> ' coalesce(committed, false) '",
    ),
    "a value is sent once, so that all rows with the column hold the same": (
        "written: f'max(offset) filter (where {sent})' -> f'min(offset) filter (where {sent})'",
        "written: f'max(process) filter (where {sent})' -> f'min(process) filter (where {sent})'",
        "written: f'max(transaction) filter (where {sent})' -> f'min(transaction) filter (where {sent})'",
        "written: f'max(type) filter (where {sent})' -> f'min(type) filter (where {sent})'",
        "written: f'min(invoked) filter (where {sent})' -> f'max(invoked) filter (where {sent})'",
    ),
    "a transaction has one row": (
        "transactional_writes: F.max('ending') -> F.min('ending')",
        "transactional_writes: F.max('fenced') -> F.min('fenced')",
        "transactional_writes: F.max('unended') -> F.min('unended')",
    ),
    "no array overlaps null, as none overlaps an empty one": (
        "transactional_writes: f'coalesce(transform({passed}, s -> s.reader), array())' -> "
        "f'coalesce(transform({passed}, s -> s.reader))'",
    ),
    "the rows that come on top lack a column that every check compares, so that no check counts them": (
        "transactional_writes: lumn('fenced', F.max('fenced').over(of)).where('value is not null') "
        "-> lumn('fenced', F.max('fenced').over(of))",
    ),
    "a value without a transaction has neither an end nor a fence, and leads to no other transaction": (
        "written: ere {COMMITTED})').alias('read_offset')).where('transaction is not null') -> ere "
        "{COMMITTED})').alias('read_offset'))",
    ),
    "what comes on top has no transaction, as a misrouted record lies in another log than its send": (
        "written: f\"value is not null and ((f = 'send' and transaction is not null) or ({POLLED}))\" "
        "-> f\"value is not null and (( f = 'send' ) or ({POLLED}))\"",
        "written: f\"value is not null and ((f = 'send' and transaction is not null) or ({POLLED}))\" "
        "-> f' value is not null '",
        "written: f\"value is not null and ((f = 'send' and transaction is not null) or ({POLLED}))\" "
        "-> f'value is not null and (( transaction is not null ) or ({POLLED}))'",
    ),
    "the filter only saves work, and holds for every record when a fact is computed by itself": (
        "written: history.records.where(f\"value is not null and ((f = 'send' and transaction is not "
        'null) or ({POLLED}))").where(history.value_filter) -> history.records.where(f"value is not '
        "null and ((f = 'send' and transaction is not null) or ({POLLED}))\")",
    ),
}
