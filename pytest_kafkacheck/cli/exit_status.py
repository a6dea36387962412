"""Exit statuses of the command line."""

from __future__ import annotations

from collections.abc import Sequence

AS_EXPECTED, NOT_AS_EXPECTED, USAGE, UNKNOWN, INFRASTRUCTURE, INTERRUPTED = 0, 1, 2, 3, 4, 130
MEANING_OF = {
    AS_EXPECTED: "every verdict as expected; of a command that does not judge: it is done",
    NOT_AS_EXPECTED: "a verdict is not as expected, a configuration loses records, or a claim ended with an error",
    USAGE: "the command or an experiment makes no sense; nothing was started",
    UNKNOWN: "a verdict is unknown, and none is worse",
    INFRASTRUCTURE: "the machine lacks something that is needed",
    INTERRUPTED: "interrupted by Ctrl-C or SIGTERM; everything is healed and removed",
}
"""Of every command. docs/commands.md has this table."""
MEANINGS = "\n".join(["exit status:", *(f"{number:5}  {meaning}" for number, meaning in MEANING_OF.items())])


def status(result: str, expect: str) -> int:
    """The exit status for one verdict."""
    if result == expect:
        return AS_EXPECTED
    return UNKNOWN if result == "unknown" else NOT_AS_EXPECTED


def worst(statuses: Sequence[int]) -> int:
    """The exit status for several verdicts: not as expected is worse than unknown, unknown worse than as expected."""
    return next((status for status in (NOT_AS_EXPECTED, UNKNOWN) if status in statuses), AS_EXPECTED)
