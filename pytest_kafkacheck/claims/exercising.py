"""How a claim's program says that what the claim speaks of did not happen."""

from __future__ import annotations


class NotExercised(Exception):
    """What the claim speaks of did not happen, so nothing is known. The text says what was missing."""


def exercised(condition: bool, missing: str) -> None:
    """Raise NotExercised unless the condition holds. missing: what was not seen."""
    if not condition:
        raise NotExercised(missing)
