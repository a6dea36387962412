"""Validation of the numbers in a stored verdict."""

from __future__ import annotations


def require_numbers(owner: str, *values: object) -> None:
    """Raise TypeError, naming `owner`, for a value that is neither a number nor None."""
    for value in values:
        if value is not None and (isinstance(value, bool) or not isinstance(value, (int, float))):
            raise TypeError(f"a time of {owner}: expected a number or null, got {value!r}")
