"""Exit statuses of the command line."""

from __future__ import annotations

from collections.abc import Sequence

AS_EXPECTED, NOT_AS_EXPECTED, USAGE, UNKNOWN, INFRASTRUCTURE, INTERRUPTED = 0, 1, 2, 3, 4, 130
MEANINGS = (
    "Exit status: 0 every verdict as expected, 1 one was not, 2 the command or an experiment makes no sense, "
    "3 a verdict is unknown (and none is worse), 4 the machine lacks something that is needed, 130 interrupted."
)


def status(result: str, expect: str) -> int:
    """The exit status for one verdict."""
    if result == expect:
        return AS_EXPECTED
    return UNKNOWN if result == "unknown" else NOT_AS_EXPECTED


def worst(statuses: Sequence[int]) -> int:
    """The exit status for several verdicts: not as expected is worse than unknown, unknown worse than as expected."""
    return next((status for status in (NOT_AS_EXPECTED, UNKNOWN) if status in statuses), AS_EXPECTED)
