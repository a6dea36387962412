"""How long work reports its progress to people: one line of text at a time."""

from __future__ import annotations

from collections.abc import Callable

Say = Callable[[str], None]
"""Prints or logs one line, without its line end."""
