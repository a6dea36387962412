"""Mutants of `analyzers.facts.compaction` that no history can tell from the original, by the reason for that."""

from __future__ import annotations

BY_REASON: dict[str, tuple[str, ...]] = {
    "a poll is ok": (
        "newest_of_keys: \"tombstone and forgets and (f = 'poll' or type <> 'fail')\" -> \"tombstone and "
        "forgets and (type <> 'fail' )\"",
    ),
    "the highest offset is never null": (
        "newest_of_keys: f\"offset is not null and (f = 'poll' or ({ACKED}))\" -> f\" (f = 'poll' or "
        '({ACKED})) "',
    ),
}
