"""Mutants of `analyzers.facts.coverage` that no history can tell from the original, by the reason for that."""

from __future__ import annotations

BY_REASON: dict[str, tuple[str, ...]] = {
    "a span that ends before it begins holds no offset": (
        "coverage: \"f in ('read', 'final-read') and type = 'ok' and start_offset < end_offset\" -> \" "
        "f in ('read', 'final-read') and type = 'ok' \"",
        "coverage: \"f in ('read', 'final-read') and type = 'ok' and start_offset < end_offset\" -> \"f "
        "in ('read', 'final-read') and type = 'ok' and start_offset <= end_offset\"",
    ),
    "only reads have both offsets": (
        "coverage: \"f in ('read', 'final-read') and type = 'ok' and start_offset < end_offset\" -> \" "
        "type = 'ok' and start_offset < end_offset \"",
    ),
}
