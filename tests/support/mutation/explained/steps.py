"""Mutants of `analyzers.facts.steps` that no history can tell from the original, by the reason for that."""

from __future__ import annotations

BY_REASON: dict[str, tuple[str, ...]] = {
    "within is null only where previous is null, and no check finds anything there": (
        "COLUMNS: 'coalesce(within, false) as within' -> 'coalesce(within, true) as within'",
    ),
    "only members have assignments, each of a log": (
        '_into_generations: "f = \'member\' and topic is not null and generation is not null" -> " f = '
        "'member' and generation is not null \"",
        "_into_generations: \"f = 'member' and topic is not null and generation is not null\" -> ' "
        "topic is not null and generation is not null '",
        "_into_generations: history.operations.where(\"f = 'member' and topic is not null and "
        'generation is not null") -> history.operations',
    ),
    "an assignment without a generation comes before all records, which is as if there was none": (
        '_into_generations: "f = \'member\' and topic is not null and generation is not null" -> " f = '
        "'member' and topic is not null \"",
    ),
    "a polled record has an offset": (
        '_into_generations: "f = \'poll\' and generation is not null and offset is not null" -> " f = '
        "'poll' and generation is not null \"",
    ),
    "only polls have the column": (
        "_into_generations: \"f = 'poll' and generation is not null and offset is not null\" -> ' "
        "generation is not null and offset is not null '",
    ),
    "an assignment has neither column, and a record has both": (
        "_into_generations: 'previous is not null and before = assignment' -> ' before = assignment '",
    ),
    "every check of these steps compares the two offsets again": (
        "_of_keys: 'offset <= last and offset > previous' -> ' offset > previous '",
    ),
}
