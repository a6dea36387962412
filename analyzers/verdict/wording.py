"""Numbers and times as people read them."""

from __future__ import annotations

SUFFIXES = {1: "st", 2: "nd", 3: "rd"}


def count(number: int, noun: str) -> str:
    """``1 send``, ``2,000 sends``."""
    return f"{number:,} {noun}{'' if number == 1 else 's'}"


def ordinal(number: int) -> str:
    """``1st``, ``7,116th``."""
    suffix = "th" if number % 100 in (11, 12, 13) else SUFFIXES.get(number % 10, "th")
    return f"{number:,}{suffix}"


def seconds(time: float) -> str:
    """A moment since the run's first operation, or a length of time: ``4.8 s``, and ``3 ms`` below a tenth of a
    second, which one decimal would show as nothing."""
    if 0 < abs(time) < 0.1:
        return f"{time * 1000:.0f} ms" if abs(time) >= 0.001 else "below 1 ms"
    return f"{time:,.1f} s"
