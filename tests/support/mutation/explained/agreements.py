"""Mutants of `analyzers.facts.agreements` that no history can tell from the original, by the reason for that."""

from __future__ import annotations

BY_REASON: dict[str, tuple[str, ...]] = {
    "one broker agrees with itself": (
        'agreements:  run, topic, partition having count(*) > 1\\n " ->  run, topic, partition having '
        'count(*) >= 1\\n "',
    ),
}
