"""Mutants of `analyzers.facts.readings` that no history can tell from the original, by the reason for that."""

from __future__ import annotations

BY_REASON: dict[str, tuple[str, ...]] = {
    "an event that counts several times counts as often for every poll of its log": (
        "with_reading: polls.select(*key).distinct() -> polls.select(*key)",
    ),
    "the rows of events have no offsets, so that every fact leaves them out": (
        "with_reading: ool_or(event = 'assigned')\").over(line)).where('event is null') -> ool_or(event "
        "= 'assigned')\").over(line))",
    ),
}
