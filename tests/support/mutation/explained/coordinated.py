"""Mutants of `analyzers.facts.coordinated` that no history can tell from the original, by the reason for that."""

from __future__ import annotations

BY_REASON: dict[str, tuple[str, ...]] = {
    "the rows that come on top lack a column that every check compares, so that no check counts them": (
        'group_states: as members, newest\\n from ordered where sample is not null\\n " -> as members, newest\\n '
        'from ordered where true "',
    ),
}
