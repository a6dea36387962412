"""Mutants of `analyzers.facts.compaction` that no history can tell from the original, by the reason for that."""

from __future__ import annotations

BY_REASON: dict[str, tuple[str, ...]] = {
    "only the rows of topics have settings": (
        "compacted_topics: 'f = \\'topic\\' and get_json_object(value, "
        "\"$.config[\\'cleanup.policy\\']\") like \\'%compact%\\'' -> ' get_json_object(value, "
        "\"$.config[\\'cleanup.policy\\']\") like \\'%compact%\\' '",
    ),
}
