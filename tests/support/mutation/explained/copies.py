"""Mutants of `analyzers.facts.copies` that no history can tell from the original, by the reason for that."""

from __future__ import annotations

BY_REASON: dict[str, tuple[str, ...]] = {
    "it only saves work: no check finds anything in a record with one copy": (
        "copies: _sources(history).join(_copied(history), RECORD, 'full').where('coalesce(copied,"
        " 0) <> 1') -> _sources(history).join(_copied(history), RECORD, 'full')",
        "copies: 'coalesce(copied, 0) <> 1' -> 'coalesce(0) <> 1'",
    ),
    "the join only saves work: other logs have no row in the end": (
        "_sources: history.records.where(f\"f = 'send' or "
        '({POLLED})").where(history.value_filter).join(F.broadcast(read.select(*LOG).distinct()), LOG, '
        "'left_semi') -> history.records.where(f\"f = 'send' or ({POLLED})\").where(history.value_filter)",
    ),
    "the join only looks whether there is such a row": (
        "_sources: _copiers(history).select('run', 'group').distinct() -> "
        "_copiers(history).select('run', 'group')",
    ),
    "the join only looks whether there is such a log": (
        "_sources: read.select(*LOG).distinct() -> read.select(*LOG)",
    ),
    "the process of a final read makes no other polls, and reads a log once": (
        "_sources: 'coalesce(final and process = final_process and invoked >= final_invoked, "
        "false)' -> 'coalesce( process = final_process and invoked >= final_invoked , false)'",
        "_sources: 'coalesce(final and process = final_process and invoked >= final_invoked, "
        "false)' -> 'coalesce( final and process = final_process , false)'",
    ),
    "it only saves work: sets of copies, and conditions on all of them, count a row once": (
        "_copiers: history.records.where(\"f = 'send' and source is not null\").select('run', "
        "'process').distinct() -> history.records.where(\"f = 'send' and source is not "
        "null\").select('run', 'process')",
    ),
    "all rows of a copy have the same source": ("_made: F.max('source') -> F.min('source')",),
    "a value is sent once": (
        "_made: f'max(type) filter (where {sent})' -> f'min(type) filter (where {sent})'",
        "_made: f'bool_and(transaction is null) filter (where {sent})' -> "
        "f'bool_or(transaction is null) filter (where {sent})'",
        "_made: f'coalesce(min(invoked) filter (where {sent}), min(invoked))' -> "
        "f'coalesce(max(invoked) filter (where {sent}), min(invoked))'",
    ),
    "the prefilter leaves out only records of which no check of copies finds anything": (
        "_sources: history.records.where(f\"f = 'send' or ({POLLED})\").where(history.value_filter) -> "
        "history.records.where(f\"f = 'send' or ({POLLED})\")",
        "_made: history.records.where(f'source is not null and ({sent} or "
        "({POLLED}))').where(history.source_filter) -> history.records.where(f'source is not null and "
        "({sent} or ({POLLED}))')",
    ),
}
