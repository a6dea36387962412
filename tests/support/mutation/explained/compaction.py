"""Mutants of `analyzers.facts.compaction` that no history can tell from the original, by the reason for that."""

from __future__ import annotations

BY_REASON: dict[str, tuple[str, ...]] = {
    "only the rows of topics have settings": (
        "compacted_topics: 'f = \\'topic\\' and get_json_object(value, "
        "\"$.config[\\'cleanup.policy\\']\") like \\'%compact%\\'' -> ' get_json_object(value, "
        "\"$.config[\\'cleanup.policy\\']\") like \\'%compact%\\' '",
    ),
    "all logs of a run have the time of its last record": (
        "_forgetful_topics: F.max('until') -> F.min('until')",
    ),
    "without a key, a row is joined with none": (
        "keyed_records: history.records.where('key is not null') -> history.records",
    ),
    "a poll is ok": (
        "newest_of_keys: \"tombstone and forgets and (f = 'poll' or type <> 'fail')\" -> \"tombstone and "
        "forgets and (type <> 'fail' )\"",
    ),
    "the highest offset is never null": (
        "newest_of_keys: f\"offset is not null and (f = 'poll' or ({ACKED}))\" -> f\" (f = 'poll' or "
        '({ACKED})) "',
    ),
}
