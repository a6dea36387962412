"""Mutants of `analyzers.facts.standstills` that no history can tell from the original, by the reason for that."""

from __future__ import annotations

BY_REASON: dict[str, tuple[str, ...]] = {
    "a time that takes none is not longer than any limit": (
        '_STANDSTILLS: an as lasted, is_timed from waits where began < ended\\n" -> an as lasted, is_timed '
        'from waits where true "',
        '_STANDSTILLS: asted, is_timed from waits where began < ended\\n" -> asted, is_timed from waits '
        'where began <= ended\\n"',
    ),
}
