"""Mutants of `analyzers.facts.steps` that no history can tell from the original, by the reason for that."""

from __future__ import annotations

BY_REASON: dict[str, tuple[str, ...]] = {
    "within is null only where previous is null, and no check finds anything there": (
        "COLUMNS: 'coalesce(within, false) as within' -> 'coalesce(within, true) as within'",
    ),
    "a polled record has an offset": (
        '_into_generations: "f = \'poll\' and generation is not null and offset is not null" -> " f = '
        "'poll' and generation is not null \"",
    ),
    "only polls have the column": (
        "_into_generations: \"f = 'poll' and generation is not null and offset is not null\" -> ' "
        "generation is not null and offset is not null '",
    ),
    "the first span of a line has neither column, and the others have both": (
        "_into_generations: 'previous is not null and before = reading' -> ' before = reading '",
    ),
    "every check of these steps compares the two offsets again": (
        "_of_keys: 'offset <= last and offset > previous' -> ' offset > previous '",
    ),
}
