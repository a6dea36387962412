"""Mutants of `analyzers.facts.proved_sends` that no history can tell from the original, by the reason for that."""

from __future__ import annotations

BY_REASON: dict[str, tuple[str, ...]] = {
    "the rows that come on top lack a column that every check compares, so that no check counts them": (
        "proved_sends: 'invoked is not null and offset is not null' -> ' offset is not null '",
        "proved_sends: in_by('offset', 'acked_at').over(above)).where('value is not null') -> "
        "in_by('offset', 'acked_at').over(above))",
    ),
    "a value is sent once, so that all rows with the column hold the same": (
        'proved_sends: f"min({name}) filter (where f = \'send\') as {name}" -> f"max({name}) filter '
        "(where f = 'send') as {name}\"",
    ),
    "the prefilter narrows the fact down, here to all values; test_prefilter is about that": (
        "proved_sends: history.records.where(f'value is not null and (({UNKNOWN}) or "
        "({POLLED}))').where(history.value_filter) -> history.records.where(f'value is not null and "
        "(({UNKNOWN}) or ({POLLED}))')",
    ),
    "null is equal to nothing, above nothing, and the least in an order": (
        "proved_sends: f'value is not null and (({UNKNOWN}) or ({POLLED}))' -> f' (({UNKNOWN}) or "
        "({POLLED})) '",
        "proved_sends: f'{ACKED} and offset is not null' -> f' {ACKED} '",
    ),
    "a poll with an error has no value, or one that was sent to another log": (
        "UNKNOWN: \"f = 'send' and type = 'info'\" -> \" type = 'info' \"",
    ),
}
