"""Mutants of `analyzers.facts.poll_spans` that no history can tell from the original, by the reason for that."""

from __future__ import annotations

BY_REASON: dict[str, tuple[str, ...]] = {
    "a polled record has an offset": (
        "_poll_spans: \"f = 'poll' and offset is not null\" -> \" f = 'poll' \"",
    ),
    "all records of a poll completed with it": ("_poll_spans: f'max({TIME})' -> f'min({TIME})'",),
}
