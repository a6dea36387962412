"""Mutants of `analyzers.facts.transactions` that no history can tell from the original, by the reason for that."""

from __future__ import annotations

BY_REASON: dict[str, tuple[str, ...]] = {
    "the rows are looked up by the op of a transaction, which no other operation has": (
        "transactions: history.operations.where(\"f = 'txn'\") -> history.operations",
    ),
    (
        "a transaction sends nothing once its process begins another init, which only matters to "
        "inits that complete after that"
    ): (
        "transactions: \"filter(inits, o -> o.process = process and o.type = 'ok' and o.invoked <= "
        'invoked)" -> "filter(inits, o -> o.process = process and o.type = \'ok\' )"',
    ),
    "the filter only saves work, and holds for every record when a fact is computed by itself": (
        "transactions: history.operations.where(\"f = 'txn'\").where(history.transaction_filter) -> "
        "history.operations.where(\"f = 'txn'\")",
    ),
}
