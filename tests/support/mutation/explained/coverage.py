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
    "spans of a reader that overlap or touch are joined to have fewer of them; their offsets are the same": (
        "_merged: 'count_if(low - 1 > reached)' -> 'count_if(low + 1 > reached)'",
        "_merged: 'count_if(low - 1 > reached)' -> 'count_if(low - 1 >= reached)'",
        "_merged: 'count_if(low - 1 > reached)' -> 'count_if(low > reached)'",
        "_merged: F.max('high') -> F.min('high')",
        "_merged: Window.partitionBy(*LOG, 'reader').orderBy('low', 'high') -> "
        "Window.partitionBy(*LOG, 'reader').orderBy('low')",
    ),
}
