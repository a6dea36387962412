"""How long work reports its progress to people: lines that stay, and one line that is replaced."""

from __future__ import annotations

from collections.abc import Callable

Say = Callable[[str], None]
"""Prints or logs one line, without its line end."""

Show = Callable[[str], None]
"""Shows how things are now, in place of what it showed before; an empty text ends that."""


def show_nothing(_: str) -> None:
    """Where nobody looks."""
