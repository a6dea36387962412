"""Mutants of `analyzers.facts.redeliveries` that no history can tell from the original, by the reason for that."""

from __future__ import annotations

BY_REASON: dict[str, tuple[str, ...]] = {
    "the check counts only records below the commit": (
        "redeliveries: 'offset <= committed' -> 'offset < committed'",
        "redeliveries: of_groups(history).join(F.broadcast(again), "
        "GROUP_LOG).where('offset <= committed') -> "
        "of_groups(history).join(F.broadcast(again), GROUP_LOG)",
    ),
}
