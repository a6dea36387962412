"""Mutants of `analyzers.facts.values` that no history can tell from the original, by the reason for that."""

from __future__ import annotations

BY_REASON: dict[str, tuple[str, ...]] = {
    "a value is sent once, so that all rows with the column hold the same": (
        "COLUMNS: \"max(process) filter (where f = 'send')\" -> \"min(process) filter (where f = 'send')\"",
        "COLUMNS: \"min(invoked) filter (where f = 'send')\" -> \"max(invoked) filter (where f = 'send')\"",
        "COLUMNS: f'max(completed) filter (where {ACKED})' -> f'min(completed) filter (where {ACKED})'",
        "COLUMNS: f'max(offset) filter (where {ACKED})' -> f'min(offset) filter (where {ACKED})'",
    ),
    "all rows of a value have the key with which it was sent": ("COLUMNS: 'max(key)' -> 'min(key)'",),
    "only polls have the column": (
        "SEEN: \"f = 'poll' and committed\" -> ' committed '",
        "SEEN: \"f = 'poll' and type = 'ok' and final and process = final_process and invoked >= "
        "final_invoked\" -> \" type = 'ok' and final and process = final_process and invoked >= "
        'final_invoked "',
    ),
    "a poll does not fail: only records that came have rows": (
        "SEEN: \"f = 'send' and type = 'fail'\" -> \" type = 'fail' \"",
    ),
    "every log with a record has a row": (
        "values: fates.selectExpr('*', *bits).join(F.broadcast(removals(history)), LOG, 'left') -> "
        "fates.selectExpr('*', *bits).join(F.broadcast(removals(history)), LOG, 'inner')",
    ),
    "the prefilter narrows the fact down, here to all values; test_prefilter is about that": (
        "values: history.records.where(OF_VALUES).where(history.value_filter) -> "
        "history.records.where(OF_VALUES)",
    ),
    (
        "only a history without compacted topics gets there; its plan lacks the column then, and Spark "
        "refuses it"
    ): ("values: known.withColumn('newest', F.lit(None)) -> known",),
}
