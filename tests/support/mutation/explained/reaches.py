"""Mutants of `analyzers.facts.reaches` that no history can tell from the original, by the reason for that."""

from __future__ import annotations

BY_REASON: dict[str, tuple[str, ...]] = {
    "all records of a poll completed with it": ("reaches: F.max('completed') -> F.min('completed')",),
}
