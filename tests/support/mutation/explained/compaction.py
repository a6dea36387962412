"""Mutants of `analyzers.facts.compaction` that no history can tell from the original, by the reason for that."""

from __future__ import annotations

BY_REASON: dict[str, tuple[str, ...]] = {
    "only the rows of topics have settings": (
        "compacted_topics: 'f = \\'topic\\' and get_json_object(value, "
        "\"$.config[\\'cleanup.policy\\']\") like \\'%compact%\\'' -> ' get_json_object(value, "
        "\"$.config[\\'cleanup.policy\\']\") like \\'%compact%\\' '",
    ),
    "null is equal to nothing, above nothing, and the least in an order": (
        'newest_of_keys: f"key is not null and offset is not null and (f = \'poll\' or ({ACKED}))" -> f" '
        "key is not null and (f = 'poll' or ({ACKED})) \"",
        'newest_of_keys: f"key is not null and offset is not null and (f = \'poll\' or ({ACKED}))" -> f" '
        "offset is not null and (f = 'poll' or ({ACKED})) \"",
    ),
}
