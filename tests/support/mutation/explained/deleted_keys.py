"""Mutants of `analyzers.facts.deleted_keys` that no history can tell from the original, by the reason for that."""

from __future__ import annotations

BY_REASON: dict[str, tuple[str, ...]] = {
    "a poll has an offset": ("deleted_keys: \"f = 'poll' and offset is not null\" -> \" f = 'poll' \"",),
    "the join only saves work: the keys are those of compacted topics": (
        'deleted_keys: history.records.where("f = '
        "'poll'\").join(F.broadcast(compacted_topics(history)), ['run', 'topic'], 'left_semi') -> "
        "history.records.where(\"f = 'poll'\")",
        "deleted_keys: ['run', 'topic'] -> ['topic']",
        "deleted_keys: ['run', 'topic'] -> ['run']",
    ),
    "a reader has one isolation level": (
        "deleted_keys: 'bool_or(coalesce(committed, false)) as isolated' -> "
        "'bool_and(coalesce(committed, false)) as isolated'",
    ),
    "a record without an offset sorts before all others, and is one of unknown place": (
        "_deletions: f\"offset is not null and (f = 'poll' or ({ACKED}))\" -> f\" (f = 'poll' or "
        '({ACKED})) "',
    ),
    "all rows of a record agree on whether it is a tombstone": (
        "_deletions: 'bool_or(tombstone) as tombstone' -> 'bool_and(tombstone) as tombstone'",
    ),
    "the join only looks whether there is such a row": (
        "_deletions: unplaced.join(polled, [*LOG, 'key', 'value'], 'left_anti').select(*LOG, "
        "'key').distinct() -> unplaced.join(polled, [*LOG, 'key', 'value'], "
        "'left_anti').select(*LOG, 'key')",
    ),
    "a value has one key": ("_deletions: [*LOG, 'key', 'value'] -> [*LOG, 'value']",),
}
