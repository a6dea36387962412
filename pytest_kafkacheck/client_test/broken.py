"""How a rule says that a client does not keep to it."""

from __future__ import annotations


class Broken(Exception):
    """The text says what the client did, and what was expected."""


def expect(is_kept: bool, text: str) -> None:
    """Raises Broken with the text unless the rule is kept."""
    if not is_kept:
        raise Broken(text)
